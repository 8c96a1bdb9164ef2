/**
 * `k8ts up --simulate`: many nodes and pods in one process. How fast pods come to run, what a pod costs,
 * how soon a GET is answered meanwhile. The curve goes from 1,000 to 150,000 pods; `--quick` ends at 5,000.
 * Then the cluster is left alone for ten minutes (ten seconds): what it costs at rest, and whether all
 * heartbeats are kept. SCALE_NODES, SCALE_PODS and SCALE_REST_SECONDS choose other ends.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "#client/client.ts";
import { HttpsTransport } from "#client/https-transport.ts";
import { connectionFromFile } from "#client/kubeconfig.ts";
import { systemRandom } from "#lib/random.ts";
import { systemClock } from "#lib/time/system-clock.ts";
import {
  cpuMs,
  launcherMs,
  residentFilesMb,
  residentMb,
  startProgram,
} from "./load/server-processes.ts";
import { type BenchOptions, type Row, wanted } from "./row.ts";
import {
  createDeployments,
  lostNodes,
  PODS_PER_DEPLOYMENT,
  probeGets,
  untilReady,
} from "./scale/scale-load.ts";

export const name = "scale";

const STEPS = [1_000, 5_000, 20_000, 50_000, 100_000, 150_000];
const PODS_PER_SECOND = 500;
const MEMORY_MB = 3_072;
const GET_MS = 50;
const STEP_LIMIT_MS = 600_000;
const REST_SECONDS = 600;
const QUICK_REST_SECONDS = 10;

export async function* run({ quick, progress, signal }: BenchOptions): AsyncIterable<Row> {
  const folder = mkdtempSync(join(tmpdir(), "k8ts-bench-"));
  const nodes = Number(process.env.SCALE_NODES ?? (quick ? 500 : 5_000));
  const podsMax = Number(process.env.SCALE_PODS ?? (quick ? 5_000 : 150_000));
  try {
    await launcherMs(); // builds if need be
    progress(`${nodes} nodes`);
    const up = ["up", "--foreground", "--no-node", "--simulate", `${nodes}`];
    await using server = await startProgram(up, join(folder, "data"));
    await server.printedMs;
    using transport = new HttpsTransport(
      connectionFromFile(join(folder, "data", "kubeconfig")),
      "bench",
    );
    const surroundings = { clock: systemClock, random: systemRandom, fieldManager: "bench" };
    const client = new Client({ transport, ...surroundings });
    let before = 0;
    for (const pods of STEPS.filter((step) => step <= podsMax)) {
      signal.throwIfAborted();
      progress(`${pods} pods on ${nodes} nodes`);
      const done = new AbortController();
      const gets = probeGets(client, done.signal);
      const startMs = performance.now();
      const startCpuMs = cpuMs(server.pid);
      await createDeployments(
        client,
        before / PODS_PER_DEPLOYMENT,
        (pods - before) / PODS_PER_DEPLOYMENT,
      );
      await untilReady(client, pods, STEP_LIMIT_MS);
      const seconds = (performance.now() - startMs) / 1000;
      const podCpuMs = (cpuMs(server.pid) - startCpuMs) / (pods - before);
      done.abort();
      const row = `${nodes} nodes, ${pods} pods`;
      yield wanted(`${row}: pods to Running`, (pods - before) / seconds, "pods/s", PODS_PER_SECOND);
      // Unlike the rate this says something on a machine that has other work, too.
      yield { name: `${row}: processor time of a pod`, value: podCpuMs, unit: "ms" };
      yield wanted(`${row}: GET p99 meanwhile`, await gets, "ms", GET_MS);
      yield wanted(`${row}: memory`, residentMb(server.pid), "MB", MEMORY_MB);
      yield {
        ...{ name: `${row}: of that pages of files`, value: residentFilesMb(server.pid) },
        unit: "MB",
      };
      before = pods;
    }
    const restSeconds = Number(
      process.env.SCALE_REST_SECONDS ?? (quick ? QUICK_REST_SECONDS : REST_SECONDS),
    );
    progress(`${restSeconds} s of rest`);
    yield* atRest(client, server.pid, restSeconds, signal);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function* atRest(
  client: Client,
  pid: number,
  seconds: number,
  signal: AbortSignal,
): AsyncIterable<Row> {
  const done = new AbortController();
  const gets = probeGets(client, done.signal);
  const startMs = performance.now();
  const startCpuMs = cpuMs(pid);
  await systemClock.sleep(seconds * 1_000, signal);
  const share = (cpuMs(pid) - startCpuMs) / (performance.now() - startMs);
  done.abort();
  yield { name: "at rest: processor time", value: 100 * share, unit: "% of a core" };
  yield wanted("at rest: GET p99", await gets, "ms", GET_MS);
  yield {
    ...{ name: `nodes without heartbeats after ${seconds} s`, value: await lostNodes(client) },
    unit: "nodes",
  };
}
