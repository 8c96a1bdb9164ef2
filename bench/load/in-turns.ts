/**
 * Measures the server, its limit and, where there is one, upstream's server in turns, so that each
 * ratio is taken within a moment.
 */
import type { BenchOptions, Row } from "../row.ts";
import type { Measured } from "./load.ts";
import { cpuMs } from "./server-processes.ts";

/** How much better than upstream we want to be. */
export interface Goal {
  /** As recorded on another machine of two cores; what it does in the same run counts more. */
  readonly upstreamPerSecond: number;
  readonly factor: number;
  /** Of the limit measured in the same run. */
  readonly ratio: number;
}

export const GOALS = {
  get: { upstreamPerSecond: 1_970, factor: 3, ratio: 0.4 },
  list: { upstreamPerSecond: 31, factor: 8, ratio: 0.6 },
  "create 1": { upstreamPerSecond: 200, factor: 2, ratio: 0.2 },
  "create 64": { upstreamPerSecond: 970, factor: 4, ratio: 0.03 },
  patch: { upstreamPerSecond: 640, factor: 4, ratio: 0.03 },
  apply: { upstreamPerSecond: 840, factor: 4, ratio: 0.03 },
  fanOut: { upstreamPerSecond: 27_000, factor: 3, ratio: 0.3 },
} as const;

export interface Result extends Measured {
  /** If it took part. */
  readonly upstreamPerSecond: number | undefined;
  readonly ratio: number;
  readonly cpuMicros: number;
  /** Of the load generator, which has the same processors. */
  readonly loadMicros: number;
}

type Measure = (windowMs: number) => Promise<Measured>;

export interface Contest {
  readonly name: string;
  /** The process that `own` keeps busy. */
  readonly pid: number;
  readonly own: Measure;
  readonly limit: Measure;
  readonly upstream?: Measure | undefined;
}

export async function inTurns(
  { quick, signal, progress }: BenchOptions,
  { name, pid, own, limit, upstream }: Contest,
): Promise<Result> {
  const windowMs = quick ? 300 : 600;
  await warmUp(own, windowMs);
  await upstream?.(windowMs * WARM_WINDOWS);
  const [rates, ratios, p99s]: [number[], number[], number[]] = [[], [], []];
  const besides: number[] = [];
  let count = 0;
  let usedMs = 0;
  let loadMicros = 0;
  for (let round = 0; round < (quick ? 3 : 9); round++) {
    signal.throwIfAborted();
    progress(`${name}, round ${round + 1}`);
    const bar = await limit(windowMs);
    const beforeMs = cpuMs(pid);
    const before = process.cpuUsage();
    const measured = await own(windowMs);
    const { user, system } = process.cpuUsage(before);
    loadMicros += user + system;
    usedMs += cpuMs(pid) - beforeMs;
    count += measured.count;
    rates.push(measured.perSecond);
    ratios.push(measured.perSecond / bar.perSecond);
    p99s.push(measured.p99Ms);
    if (upstream !== undefined) besides.push((await upstream(windowMs)).perSecond);
  }
  return {
    count,
    perSecond: median(rates),
    upstreamPerSecond: besides.length === 0 ? undefined : median(besides),
    ratio: median(ratios),
    p99Ms: median(p99s),
    cpuMicros: (usedMs * 1000) / count,
    loadMicros: loadMicros / count,
  };
}

const WARM_WINDOWS = 3;
const WARM_WINDOWS_MAX = 10;
const WARM_COUNT = 4_000;

/** Servers run for days, and what counts is how they run then: when V8 has compiled what they do. */
async function warmUp(own: Measure, windowMs: number): Promise<void> {
  let count = 0;
  for (let n = 0; n < WARM_WINDOWS || (n < WARM_WINDOWS_MAX && count < WARM_COUNT); n++) {
    count += (await own(windowMs)).count;
  }
}

export function* resultRows(
  row: string,
  { perSecond, ratio, cpuMicros, loadMicros, upstreamPerSecond }: Result,
  limitName: string,
  goal: Goal,
  unit = "/s",
): Iterable<Row> {
  const limit = perSecond / ratio;
  yield { name: row, value: perSecond, unit, limit, limitName, ratio, target: goal.ratio };
  const wish = (upstreamPerSecond ?? goal.upstreamPerSecond) * goal.factor;
  const when = upstreamPerSecond === undefined ? " as recorded" : " in this run";
  yield wanted(`… beside ${goal.factor} × upstream${when}`, perSecond, unit, wish);
  yield { name: "… processor time of the server", value: cpuMicros, unit: "µs each" };
  yield { name: "… and of the load generator", value: loadMicros, unit: "µs each" };
}

export function wanted(row: string, value: number, unit: string, wish: number): Row {
  return { name: row, value, unit, limit: wish, limitName: `${unit} wanted`, target: 1 };
}

export function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN;
}
