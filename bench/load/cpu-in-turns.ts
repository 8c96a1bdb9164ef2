/** Processor time of several servers for the same requests, taken in turns, so that noise meets all alike. */
import type { Measured } from "./load.ts";
import { cpuMs } from "./server-processes.ts";

/** Until V8 has compiled what a server does all the time. */
const WARM_COUNT = 12_000;
const WARM_WINDOWS_MAX = 40;

export interface Contender {
  readonly pid: number;
  load(windowMs: number): Promise<Measured>;
}

/** Microseconds a request of each. */
export async function cpuInTurns(
  contenders: readonly Contender[],
  windowMs: number,
  rounds: number,
): Promise<number[]> {
  for (const { load } of contenders) {
    let count = 0;
    for (let n = 0; n < WARM_WINDOWS_MAX && count < WARM_COUNT; n++) {
      count += (await load(windowMs)).count;
    }
  }
  const used = contenders.map(() => ({ ms: 0, count: 0 }));
  for (let round = 0; round < rounds; round++) {
    for (const [index, { pid, load }] of contenders.entries()) {
      const beforeMs = cpuMs(pid);
      const { count } = await load(windowMs);
      used[index]!.ms += cpuMs(pid) - beforeMs;
      used[index]!.count += count;
    }
  }
  return used.map(({ ms, count }) => (ms * 1000) / count);
}
