/**
 * One client must not stop the others: the longest that a GET of another client waits while each
 * attack is sent, and the memory that clients without credentials can make the server hold. The server
 * is the built program in a process of its own. K8TS_ATTACK selects attacks by
 * parts of their names, separated by commas.
 * Where K8TS_KUBE_APISERVER names upstream's program, it is attacked as well, on an etcd.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock } from "#lib/time/system-clock.ts";
import { startEtcd } from "../test/store/etcd-cluster.ts";
import { ATTACKS, type Attack, VICTIM } from "./attack/attacks.ts";
import { openProbe } from "./attack/probe.ts";
import { openHttp1 } from "./load/http1-asker.ts";
import { wanted } from "./load/in-turns.ts";
import { KUBE_APISERVER, startKubeApiServer } from "./load/kube-apiserver.ts";
import { makePods } from "./load/pods.ts";
import { residentMb, type ServerProcess, startProgram } from "./load/server-processes.ts";
import type { BenchOptions, Row } from "./row.ts";

export const name = "attack";

const PROBED = "/api/v1/namespaces/default";
const CONNECTIONS = 500;
const IDLE_MS = 500;
/** Connections that make the pods of an attack. */
const MAKERS = 16;
const HELD_MB_MAX = 64;

/** Those that cost the server most: what `--quick` sends. */
const WORST = ["half-sent bodies", "/openapi/v2", "apply of 60,000", "merge patch of 64,000"];

export async function* run({ quick, signal, progress }: BenchOptions): AsyncIterable<Row> {
  const parts = process.env.K8TS_ATTACK?.split(",") ?? (quick ? WORST : undefined);
  for (const [n, attack] of chosen(parts).entries()) {
    signal.throwIfAborted();
    progress(attack.name);
    const { idleMs, ms, heldMb } = await measure(attack);
    if (n === 0) yield { name: "nothing is sent", value: idleMs, unit: "ms" };
    yield wanted(`${attack.name} (${attack.by})`, ms, "ms", attack.wishMs);
    if (attack.by === "anonymous") yield wanted("… memory held", heldMb, "MB", HELD_MB_MAX);
    if (KUBE_APISERVER === "") continue;
    const beside = await measureUpstream(attack);
    yield { name: "… kube-apiserver", value: beside.ms, unit: "ms" };
    if (attack.by === "anonymous") {
      yield { name: "… … memory held", value: beside.heldMb, unit: "MB" };
    }
  }
}

interface Measured {
  readonly idleMs: number;
  readonly ms: number;
  readonly heldMb: number;
}

/** Each attack has a server of its own, so that what one leaves behind is not counted for the next. */
async function measure(attack: Attack): Promise<Measured> {
  const directory = mkdtempSync(join(tmpdir(), "k8ts-bench-attack-"));
  try {
    await using server = await startProgram(["apiserver"], join(directory, "ours"));
    return await attackServer(server, attack);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

async function measureUpstream(attack: Attack): Promise<Measured> {
  const directory = mkdtempSync(join(tmpdir(), "k8ts-bench-attack-"));
  try {
    await using etcd = await startEtcd({ directory: join(directory, "etcd") });
    const keysOf = join(directory, "keys");
    {
      await using _maker = await startProgram(["apiserver"], keysOf); // makes the keys
    }
    const options = { etcdServers: etcd.endpoints, keysOf, directory: join(directory, "theirs") };
    await using server = await startKubeApiServer(options);
    return await attackServer(server, attack);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

async function attackServer(server: ServerProcess, attack: Attack): Promise<Measured> {
  using makers = new DisposableStack();
  const open = async () => makers.use(await openHttp1(server.port, server.identity));
  const askers = await Promise.all(Array.from({ length: MAKERS }, open));
  const { pods = 1 } = attack;
  await makePods(askers, pods, (index) => (index === 0 ? VICTIM : `${VICTIM}-${index}`));
  await using probe = await openProbe(server, PROBED);
  const idleMs = await probe.longestMs(() => systemClock.sleep(IDLE_MS));
  const heldMb = watchMemory(server.pid);
  const ms = await probe.longestMs(() => attack.send(server, { connections: CONNECTIONS }));
  return { idleMs, ms, heldMb: heldMb() };
}

function chosen(parts: readonly string[] | undefined): readonly Attack[] {
  if (parts === undefined) return ATTACKS;
  return ATTACKS.filter(({ name }) => parts.some((part) => name.includes(part)));
}

/** Answers how much the server's memory has grown at most since the call. */
function watchMemory(pid: number): () => number {
  const beforeMb = residentMb(pid);
  let highestMb = beforeMb;
  const timer = setInterval(() => {
    highestMb = Math.max(highestMb, residentMb(pid));
  }, 20);
  return () => {
    clearInterval(timer);
    return highestMb - beforeMb;
  };
}
