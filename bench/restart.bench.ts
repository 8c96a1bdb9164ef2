/**
 * A cluster that has grown is killed and started again: how much later than a fresh one it is ready,
 * whether "ready" is printed when it is true, and how long the slowest answer takes while caches and
 * informers fill. And what a new API server does in its first seconds.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openHttp1 } from "./load/http1-asker.ts";
import { type Measured, measureLoad, type Requester } from "./load/load.ts";
import { labelPatch, listedName, makePods, PODS as POD_PATH, podNamed, post } from "./load/pods.ts";
import { probeFor } from "./load/probe.ts";
import { cpuMs, launcherMs, type ServerProcess, startProgram } from "./load/server-processes.ts";
import type { BenchOptions, Row } from "./row.ts";

export const name = "restart";

const PODS = 30_000;
const QUICK_PODS = 20_000;
const CONNECTIONS = 32;
const UP = ["up", "--foreground", "--no-node"];
const LATER_MS = 1_000;
const DELAY_MS = 100;
const PROBING_MS = 10_000;
const QUICK_PROBING_MS = 2_000;
const NEW_MS = 2_000;
const WARMING_MS = 15_000;
const PATCHED = 500;

interface Start {
  readonly readyMs: number;
  /** How long after "ready" was printed the first answer came. */
  readonly lateMs: number;
  readonly longestProbeMs: number;
  /** What the start cost, however busy the machine is. */
  readonly cpuMs: number;
}

export async function* run({ quick, progress, signal }: BenchOptions): AsyncIterable<Row> {
  const folder = mkdtempSync(join(tmpdir(), "k8ts-bench-restart-"));
  const rounds = quick ? 2 : 5;
  try {
    await launcherMs(); // builds if need be
    const grown = join(folder, "grown");
    const count = quick ? QUICK_PODS : PODS;
    const probingMs = quick ? QUICK_PROBING_MS : PROBING_MS;
    progress(`making ${count} pods`);
    await fill(grown, count);
    const [fresh, again]: [Start[], Start[]] = [[], []];
    for (let round = 0; round < rounds; round++) {
      signal.throwIfAborted();
      progress(`start, round ${round + 1}`);
      fresh.push(await start(join(folder, `fresh-${round}`), probingMs));
      again.push(await start(grown, probingMs));
    }
    const of = (starts: readonly Start[], what: keyof Start): number =>
      median(starts.map((start) => start[what]));
    yield { name: "a fresh cluster is ready", value: of(fresh, "readyMs"), unit: "ms" };
    const pods = `with ${count.toLocaleString("en")} pods`;
    yield { name: `… ${pods}, after kill -9`, value: of(again, "readyMs"), unit: "ms" };
    const laterMs = of(again, "readyMs") - of(fresh, "readyMs");
    yield atMost("… later than the fresh one", laterMs, LATER_MS);
    yield {
      name: "… processor time until then",
      value: of(again, "cpuMs"),
      unit: "ms",
      limit: of(fresh, "cpuMs"),
      limitName: "ms of the fresh one",
    };
    yield atMost(`"ready" to the first answer, ${pods}`, of(again, "lateMs"), DELAY_MS);
    yield atMost("slowest answer while caches fill", of(again, "longestProbeMs"), DELAY_MS);
    yield { name: "… in a fresh one", value: of(fresh, "longestProbeMs"), unit: "ms" };
    if (quick) return;
    progress("the first seconds of a new API server");
    yield* firstSeconds(join(folder, "new"));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function fill(data: string, count: number): Promise<void> {
  await using server = await startProgram(["apiserver"], data);
  const askers = await connect(server, CONNECTIONS);
  await makePods(askers, count, (index) => `pod-${index}`);
  for (const asker of askers) asker[Symbol.dispose]();
}

/** How many writes a new API server answers, beside itself when it is warm; and patches that collide. */
async function* firstSeconds(data: string): AsyncIterable<Row> {
  await using server = await startProgram(["apiserver"], data);
  const askers = await connect(server, 64);
  await makePods(askers.slice(0, 1), 1, listedName);
  let made = 0;
  const create = (windowMs: number): Promise<Measured> =>
    measureLoad(askers, windowMs, () => post(POD_PATH, podNamed(`new-${made++}`)));
  await create(NEW_MS);
  const early = await create(NEW_MS);
  await create(WARMING_MS);
  const warm = await create(NEW_MS);
  yield {
    name: "creates of a new API server after 2 s, 64 connections",
    value: early.perSecond,
    unit: "/s",
    limit: warm.perSecond,
    limitName: "/s when warm",
    target: 0.8,
  };
  await makePods(askers, PATCHED, listedName);
  let refused = 0;
  const counting: Requester[] = askers.slice(0, CONNECTIONS).map((asker) => ({
    ask: (question) =>
      asker.ask(question).catch((error: Error) => {
        if (!error.message.startsWith("409")) throw error;
        refused += 1;
        return Buffer.alloc(0);
      }),
    [Symbol.dispose]: () => undefined,
  }));
  for (const objects of [PATCHED, 1]) {
    const patches = await measureLoad(counting, NEW_MS, (connection, n) =>
      labelPatch((connection * 7919 + n * 104_729) % objects, `${connection}-${n}`),
    );
    const of = objects === 1 ? "one pod" : `${objects} pods`;
    yield { name: `merge patch of ${of}, 32 connections`, value: patches.perSecond, unit: "/s" };
  }
  yield {
    name: "… answered with 409",
    value: refused,
    unit: "",
    limit: 1,
    ratio: refused,
    target: 0,
  };
  for (const asker of askers) asker[Symbol.dispose]();
}

/** The process is killed when it was measured. */
async function start(data: string, probingMs: number): Promise<Start> {
  await using server: ServerProcess = await startProgram(UP, data);
  const usedMs = cpuMs(server.pid);
  using asker = await openHttp1(server.port, server.identity);
  const { longestMs } = await probeFor(asker, probingMs);
  return {
    readyMs: server.readyMs,
    lateMs: Math.max(0, server.readyMs - (await server.printedMs)),
    longestProbeMs: longestMs,
    cpuMs: usedMs,
  };
}

function connect({ port, identity }: ServerProcess, count: number): Promise<Requester[]> {
  return Promise.all(Array.from({ length: count }, () => openHttp1(port, identity)));
}

function atMost(row: string, value: number, limit: number): Row {
  return { name: row, value, unit: "ms", limit, limitName: "ms wanted", target: 1 };
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN;
}
