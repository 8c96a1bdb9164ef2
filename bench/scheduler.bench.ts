/**
 * Pods scheduled a second, with the workloads of upstream's scheduler_perf. API server, embedded store
 * and scheduler run in this process; the time includes creating the pods through the API.
 */

import { threadCpuMs } from "./load/thread-cpu.ts";
import type { BenchOptions, Row } from "./row.ts";
import { measureScheduler, type SchedulerSpeed } from "./scheduler/compare-schedulers.ts";
import { measureLongestTurn } from "./scheduler/measure-loop.ts";
import { measureMemory } from "./scheduler/measure-memory.ts";
import { measureWorkload } from "./scheduler/measure-workload.ts";
import { WORKLOADS } from "./scheduler/workloads.ts";

export const name = "scheduler";

const TURNS = 2;
const LONGEST_TURN_MS = 20;
const MEMORY_MB = 100;
const SCALE = [100, 1_000, 5_000, 10_000];

export async function* run({ quick, progress }: BenchOptions): AsyncIterable<Row> {
  for (const workload of quick ? WORKLOADS.slice(0, 1) : WORKLOADS) {
    progress(workload.name);
    const measured = quick ? Math.min(1_000, workload.measured) : workload.measured;
    const { rate, cpuRate } = await measureWorkload({ ...workload, measured });
    yield {
      name: `${workload.name}, ${workload.nodes} nodes`,
      value: rate,
      unit: "pods/s",
      ...(workload.wanted === undefined
        ? {}
        : { limit: workload.wanted, limitName: "wanted", target: 1 }),
    };
    yield { name: `${workload.name}, pods per CPU second`, value: cpuRate, unit: "pods/s" };
  }
  yield* besideUpstream(progress);
  if (quick) return;
  yield* loopAndMemory(progress);
  const [basic] = WORKLOADS;
  for (const nodes of SCALE) {
    progress(`SchedulingBasic on ${nodes} nodes`);
    const { rate } = await measureWorkload({ ...basic!, nodes, before: 0, measured: 2_000 });
    yield { name: `SchedulingBasic, 2,000 pods on ${nodes} nodes`, value: rate, unit: "pods/s" };
  }
}

/** The scheduler's own share: what it does in a turn of its event loop, and what it keeps. */
async function* loopAndMemory(progress: BenchOptions["progress"]): AsyncIterable<Row> {
  if (threadCpuMs() !== undefined) {
    for (const workload of WORKLOADS) {
      progress(`${workload.name}, turns of the event loop`);
      const measured = Math.min(2_000, workload.measured);
      yield {
        name: `${workload.name}, longest turn of the scheduler's event loop (CPU)`,
        ...{ value: await measureLongestTurn({ ...workload, measured }), unit: "ms" },
        ...{ limit: LONGEST_TURN_MS, limitName: "allowed", target: 1 },
      };
    }
  }
  progress("memory");
  yield {
    name: "memory beside the objects, 5,000 nodes and 30,000 pods",
    ...{ value: await measureMemory(), unit: "MB", limit: MEMORY_MB, limitName: "allowed" },
    target: 1,
  };
}

/** Ours and upstream's kube-scheduler in turns, where K8TS_KUBE_SCHEDULER names the program. */
async function* besideUpstream(progress: BenchOptions["progress"]): AsyncIterable<Row> {
  const program = process.env.K8TS_KUBE_SCHEDULER ?? "";
  if (program === "") return;
  const turns: { ours: SchedulerSpeed; upstream: SchedulerSpeed }[] = [];
  for (let turn = 1; turn <= TURNS; turn++) {
    progress(`beside kube-scheduler, turn ${turn}`);
    turns.push({
      ours: await measureScheduler(undefined),
      upstream: await measureScheduler(program),
    });
  }
  const best = (figure: (turn: (typeof turns)[number]) => number): number =>
    Math.max(...turns.map(figure));
  const limitName = "kube-scheduler";
  yield {
    name: "3,000 waiting pods on 1,000 nodes",
    ...{ value: best(({ ours }) => ours.rate), unit: "pods/s", target: 4 },
    ...{ limit: best(({ upstream }) => upstream.rate), limitName },
  };
  yield {
    name: "the same, by the scheduler's CPU second",
    ...{ value: best(({ ours }) => ours.cpuRate), unit: "pods/s" },
    ...{ limit: best(({ upstream }) => upstream.cpuRate), limitName },
  };
}
