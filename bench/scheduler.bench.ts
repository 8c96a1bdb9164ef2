/**
 * Pods scheduled a second, with the workloads of upstream's scheduler_perf. API server, embedded store
 * and scheduler run in this process; the time includes creating the pods through the API.
 */
import type { BenchOptions, Row } from "./row.ts";
import { measureWorkload } from "./scheduler/measure-workload.ts";
import { WORKLOADS } from "./scheduler/workloads.ts";

export const name = "scheduler";

const SCALE = [100, 1_000, 5_000, 10_000];

export async function* run({ quick, progress }: BenchOptions): AsyncIterable<Row> {
  for (const workload of WORKLOADS) {
    progress(workload.name);
    const measured = quick ? Math.min(1_000, workload.measured) : workload.measured;
    const { rate, cpuRate, delayMs } = await measureWorkload({ ...workload, measured });
    yield {
      name: `${workload.name}, ${workload.nodes} nodes`,
      value: rate,
      unit: "pods/s",
      ...(workload.wanted === undefined
        ? {}
        : { limit: workload.wanted, limitName: "wanted", target: 1 }),
    };
    yield { name: `${workload.name}, pods per CPU second`, value: cpuRate, unit: "pods/s" };
    yield { name: `${workload.name}, event loop delay p99`, value: delayMs, unit: "ms" };
  }
  if (quick) return;
  const [basic] = WORKLOADS;
  for (const nodes of SCALE) {
    progress(`SchedulingBasic on ${nodes} nodes`);
    const { rate } = await measureWorkload({ ...basic!, nodes, before: 0, measured: 2_000 });
    yield { name: `SchedulingBasic, 2,000 pods on ${nodes} nodes`, value: rate, unit: "pods/s" };
  }
}
