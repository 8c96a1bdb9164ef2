/**
 * Runs one workload and says how fast its pods were scheduled. The rate per CPU second counts the
 * whole process (API server, store, scheduler, the creating client and garbage collection), so it
 * says something on a machine that has other work, too.
 */
import { deviceClassKind } from "#api/kinds/resource/v1/device-class.ts";
import { resourceClaimKind } from "#api/kinds/resource/v1/resource-claim.ts";
import { resourceSliceKind } from "#api/kinds/resource/v1/resource-slice.ts";
import { systemClock } from "#lib/time/system-clock.ts";
import { type SchedulingBench, startSchedulingBench } from "./scheduling-cluster.ts";
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
  if (workload.devicesPerNode !== undefined) await seedDevices(bench, workload);
  await bench.startScheduler();
  const before = range(workload.before, (index) =>
    podOf(workload, `before-${index}`, workload.podBefore?.(index)),
  );
  await bench.createPods(before);
  await bench.untilBound(before.map((pod) => pod.metadata?.name ?? ""));
  const life = new AbortController();
  const churning = churn(bench, workload, life.signal);
  const pods = range(workload.measured, (index) => {
    const spec = workload.pod?.(index);
    const claims = workload.devicesPerNode === undefined ? {} : usesClaim(index);
    const draft = podOf(workload, `pod-${index}`, spec);
    return { ...draft, spec: { ...draft.spec, ...claims } };
  });
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

async function seedDevices(
  bench: SchedulingBench,
  { nodes, measured, devicesPerNode = 0 }: Workload,
): Promise<void> {
  const driver = "gpu.example.com";
  const expression = `device.driver == "${driver}"`;
  await bench.seed(deviceClassKind, [
    { metadata: { name: "gpu" }, spec: { selectors: [{ cel: { expression } }] } },
  ]);
  await bench.seed(
    resourceSliceKind,
    range(nodes, (index) => ({
      metadata: { name: `slice-${index}` },
      spec: {
        driver,
        nodeName: `node-${index}`,
        pool: { name: `node-${index}`, generation: 1, resourceSliceCount: 1 },
        devices: range(devicesPerNode, (device) => ({ name: `gpu-${device}` })),
      },
    })),
  );
  await bench.seed(
    resourceClaimKind,
    range(measured, (index) => ({
      metadata: { name: `claim-${index}`, namespace: "default" },
      spec: { devices: { requests: [{ name: "gpu", exactly: { deviceClassName: "gpu" } }] } },
    })),
  );
}

function usesClaim(index: number) {
  return { resourceClaims: [{ name: "gpu", resourceClaimName: `claim-${index}` }] };
}

function range<T>(count: number, make: (index: number) => T): T[] {
  return Array.from({ length: count }, (_, index) => make(index));
}
