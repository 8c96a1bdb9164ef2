/**
 * A cluster that has grown is killed and started again: how much later than a fresh one it is ready,
 * whether "ready" is printed when it is true, and how long the slowest answer takes while caches and
 * informers fill.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openHttp1 } from "./load/http1-asker.ts";
import { makePods } from "./load/pods.ts";
import { probeFor } from "./load/probe.ts";
import { cpuMs, launcherMs, type ServerProcess, startProgram } from "./load/server-processes.ts";
import type { BenchOptions, Row } from "./row.ts";

export const name = "restart";

const PODS = 30_000;
const CONNECTIONS = 32;
const UP = ["up", "--no-node"];
const LATER_MS = 1_000;
const DELAY_MS = 100;
const PROBING_MS = 10_000;

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
    progress(`making ${PODS} pods`);
    await fill(grown);
    const [fresh, again]: [Start[], Start[]] = [[], []];
    for (let round = 0; round < rounds; round++) {
      signal.throwIfAborted();
      progress(`start, round ${round + 1}`);
      fresh.push(await start(join(folder, `fresh-${round}`)));
      again.push(await start(grown));
    }
    const of = (starts: readonly Start[], what: keyof Start): number =>
      median(starts.map((start) => start[what]));
    yield { name: "a fresh cluster is ready", value: of(fresh, "readyMs"), unit: "ms" };
    const pods = `with ${PODS.toLocaleString("en")} pods`;
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
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function fill(data: string): Promise<void> {
  await using server = await startProgram(["apiserver"], data);
  const askers = await Promise.all(
    Array.from({ length: CONNECTIONS }, () => openHttp1(server.port, server.identity)),
  );
  await makePods(askers, PODS, (index) => `pod-${index}`);
  for (const asker of askers) asker[Symbol.dispose]();
}

/** The process is killed when it was measured. */
async function start(data: string): Promise<Start> {
  await using server: ServerProcess = await startProgram(UP, data);
  const usedMs = cpuMs(server.pid);
  using asker = await openHttp1(server.port, server.identity);
  const { longestMs } = await probeFor(asker, PROBING_MS);
  return {
    readyMs: server.readyMs,
    lateMs: Math.max(0, server.readyMs - (await server.printedMs)),
    longestProbeMs: longestMs,
    cpuMs: usedMs,
  };
}

function atMost(row: string, value: number, limit: number): Row {
  return { name: row, value, unit: "ms", limit, limitName: "ms wanted", target: 1 };
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN;
}
