/**
 * Runs one workload and says how fast its pods were scheduled. The rate per CPU second counts the
 * whole process (API server, store, scheduler, the creating client and garbage collection), so it
 * says something on a machine that has other work, too.
 */
import { systemClock } from "#lib/time/system-clock.ts";
import { type SchedulingBench, startSchedulingBench } from "./scheduling-cluster.ts";
import { seedDevices } from "./seed-devices.ts";
import { nodeOf, podOf, type Workload } from "./workloads.ts";

const CHURN_MS = 200;

export interface Measured {
  /** Pods scheduled a second of wall time. */
  readonly rate: number;
  /** Pods scheduled a second of the process' CPU time. */
  readonly cpuRate: number;
}

export async function measureWorkload(workload: Workload): Promise<Measured> {
  await using bench = await startSchedulingBench();
  await bench.nodes(range(workload.nodes, (index) => nodeOf(workload, index)));
  if (workload.devicesPerNode !== undefined) {
    await seedDevices(bench, workload.nodes, workload.devicesPerNode);
    bench.startClaimController();
  }
  await bench.startScheduler();
  const before = range(workload.before, (index) =>
    podOf(workload, `before-${index}`, workload.podBefore?.(index)),
  );
  await bench.createPods(before);
  await bench.untilBound(before.map((pod) => pod.metadata?.name ?? ""));
  const life = new AbortController();
  const churning = churn(bench, workload, life.signal);
  const pods = range(workload.measured, (index) =>
    podOf(workload, `pod-${index}`, workload.pod?.(index)),
  );
  const startMs = performance.now();
  const cpuBefore = process.cpuUsage();
  await bench.createPods(pods);
  await bench.untilBound(pods.map((pod) => pod.metadata?.name ?? ""));
  const tookMs = performance.now() - startMs;
  const cpu = process.cpuUsage(cpuBefore);
  life.abort();
  await churning;
  return {
    rate: (workload.measured / tookMs) * 1e3,
    cpuRate: (workload.measured / (cpu.user + cpu.system)) * 1e6,
  };
}

/** Creates the pods that come beside the measured ones. */
async function churn(
  bench: SchedulingBench,
  workload: Workload,
  signal: AbortSignal,
): Promise<void> {
  if (workload.churn === undefined) return;
  for (let index = 0; !signal.aborted; index++) {
    await bench.createPods([podOf(workload, `churn-${index}`, workload.churn())]);
    await systemClock.sleep(CHURN_MS, signal).catch(() => undefined);
  }
}

function range<T>(count: number, make: (index: number) => T): T[] {
  return Array.from({ length: count }, (_, index) => make(index));
}
