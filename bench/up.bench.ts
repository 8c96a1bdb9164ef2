/**
 * `k8ts up --no-node` as a user starts it: how soon it answers, how soon a namespace has its account,
 * what it costs while idle, and how soon it ends while a watch is open.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Namespace } from "#api/generated/core.v1.ts";
import { namespaceKind } from "#api/kinds/core/v1/namespace.ts";
import { serviceAccountKind } from "#api/kinds/core/v1/service-account.ts";
import { Client } from "#client/client.ts";
import { HttpsTransport } from "#client/https-transport.ts";
import { connectionFromFile } from "#client/kubeconfig.ts";
import { systemRandom } from "#lib/random.ts";
import { systemClock } from "#lib/time/system-clock.ts";
import { openHttp1 } from "./load/http1-asker.ts";
import { openHttp2 } from "./load/http2-asker.ts";
import {
  cpuMs,
  LAUNCHER,
  launcherMs,
  residentMb,
  type ServerProcess,
  startProgram,
} from "./load/server-processes.ts";
import { type BenchOptions, type Row, wanted } from "./row.ts";

export const name = "up";

const READY_MS = 500;
const EPHEMERAL_MS = 500;
const ACCOUNT_MS = 1_000;
const IDLE_MB = 150;
/** Percent of one core. */
const IDLE_CPU = 0.5;
const END_MS = 2_000;
const UP = ["up", "--foreground", "--no-node"];

export async function* run({ quick, progress, signal }: BenchOptions): AsyncIterable<Row> {
  const folder = mkdtempSync(join(tmpdir(), "k8ts-bench-"));
  try {
    await launcherMs(); // builds if need be
    const ready: number[] = [];
    const accounts: number[] = [];
    for (let round = 0; round < (quick ? 3 : 7); round++) {
      signal.throwIfAborted();
      progress(`start, round ${round + 1}`);
      const data = join(folder, `start-${round}`);
      await using server = await startProgram(UP, data);
      ready.push(server.readyMs);
      accounts.push(server.readyMs + (await accountMs(join(data, "admin.kubeconfig"))));
    }
    yield wanted("process start to /readyz", median(ready), "ms", READY_MS);
    yield wanted("… to the account of a new namespace", median(accounts), "ms", ACCOUNT_MS);
    progress("ephemeral");
    const printed: number[] = [];
    for (let round = 0; round < (quick ? 3 : 7); round++) printed.push(await ephemeralMs());
    yield wanted("`up --ephemeral` to its kubeconfig", median(printed), "ms", EPHEMERAL_MS);
    progress("idle");
    await using idle = await startProgram(UP, join(folder, "idle"));
    await systemClock.sleep(quick ? 1_000 : 5_000);
    yield wanted("idle memory", residentMb(idle.pid), "MB", IDLE_MB);
    const windowMs = quick ? 5_000 : 20_000;
    const before = cpuMs(idle.pid);
    await systemClock.sleep(windowMs);
    const share = ((cpuMs(idle.pid) - before) / windowMs) * 100;
    yield wanted("idle processor time", share, "% of a core", IDLE_CPU);
    progress("the end");
    yield wanted("SIGTERM to the end, watches open", await endMs(idle), "ms", END_MS);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** From asking for a namespace until its default account is there. */
async function accountMs(kubeconfig: string): Promise<number> {
  using transport = new HttpsTransport(connectionFromFile(kubeconfig), "bench");
  const options = { clock: systemClock, random: systemRandom, fieldManager: "bench" };
  const client = new Client({ transport, ...options });
  const startMs = performance.now();
  const shop = { apiVersion: "v1", kind: "Namespace", metadata: { name: "shop" } } as Namespace;
  const created = await client.create(namespaceKind, shop);
  if (!created.ok) throw new Error(created.status.message ?? "no namespace");
  const key = { namespace: "shop", name: "default" };
  while (!(await client.get(serviceAccountKind, key)).ok) await systemClock.sleep(3);
  return performance.now() - startMs;
}

/** Until it prints the path of its kubeconfig. It is ended, which takes its folder with it. */
async function ephemeralMs(): Promise<number> {
  const startMs = performance.now();
  const args = ["up", "--ephemeral", "--no-node"];
  const child = spawn(LAUNCHER, args, { stdio: ["ignore", "pipe", "ignore"] });
  await once(child.stdout, "data");
  const tookMs = performance.now() - startMs;
  child.kill("SIGTERM");
  await once(child, "exit");
  return tookMs;
}

async function endMs(server: ServerProcess): Promise<number> {
  const { port, identity } = server;
  const watch = { method: "GET", path: "/api/v1/namespaces?watch=true" } as const;
  for (const open of [openHttp1, openHttp2]) {
    const asker = await open(port, identity);
    asker.ask(watch).catch(() => undefined); // it ends with the server
  }
  await systemClock.sleep(500); // they are answered
  return await server.endMs();
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN;
}
