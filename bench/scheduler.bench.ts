/**
 * Pods scheduled a second, with the workloads of upstream's scheduler_perf. API server, embedded store
 * and scheduler run in this process; the time includes creating the pods through the API.
 */
import { monitorEventLoopDelay } from "node:perf_hooks";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { deviceClassKind } from "#api/kinds/resource/v1/device-class.ts";
import { resourceClaimKind } from "#api/kinds/resource/v1/resource-claim.ts";
import { resourceSliceKind } from "#api/kinds/resource/v1/resource-slice.ts";
import { systemClock } from "#lib/system-clock.ts";
import type { BenchOptions, Row } from "./row.ts";
import { type SchedulingBench, startSchedulingBench } from "./scheduler/scheduling-cluster.ts";
import { nodeOf, podOf, UNSCHEDULABLE, WORKLOADS, type Workload } from "./scheduler/workloads.ts";

export const name = "scheduler";

const CHURN_MS = 200;
const SCALE = [100, 1_000, 5_000, 10_000];

export async function* run({ quick, progress }: BenchOptions): AsyncIterable<Row> {
  for (const workload of WORKLOADS) {
    progress(workload.name);
    const measured = quick ? Math.min(1_000, workload.measured) : workload.measured;
    const { rate, delayMs } = await measure({ ...workload, measured });
    yield {
      name: `${workload.name}, ${workload.nodes} nodes`,
      value: rate,
      unit: "pods/s",
      limit: workload.wanted,
      limitName: "wanted",
      target: 1,
    };
    yield { name: `${workload.name}, event loop delay p99`, value: delayMs, unit: "ms" };
  }
  if (quick) return;
  const [basic] = WORKLOADS;
  for (const nodes of SCALE) {
    progress(`SchedulingBasic on ${nodes} nodes`);
    const { rate } = await measure({ ...basic!, nodes, before: 0, measured: 2_000 });
    yield { name: `SchedulingBasic, 2,000 pods on ${nodes} nodes`, value: rate, unit: "pods/s" };
  }
}

async function measure(workload: Workload): Promise<{ rate: number; delayMs: number }> {
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
  const delay = monitorEventLoopDelay({ resolution: 5 });
  delay.enable();
  const pods = range(workload.measured, (index) => {
    const spec = workload.pod?.(index);
    const claims = workload.devicesPerNode === undefined ? {} : usesClaim(index);
    const draft = podOf(workload, `pod-${index}`, spec);
    return { ...draft, spec: { ...draft.spec, ...claims } };
  });
  const startMs = performance.now();
  await bench.createPods(pods);
  await bench.untilBound(pods.map((pod) => pod.metadata?.name ?? ""));
  const tookMs = performance.now() - startMs;
  delay.disable();
  life.abort();
  await churning;
  return { rate: (workload.measured / tookMs) * 1000, delayMs: delay.percentile(99) / 1e6 };
}

/** Deletes and creates the pods that fit nowhere, one of them at a time. */
async function churn(
  bench: SchedulingBench,
  workload: Workload,
  signal: AbortSignal,
): Promise<void> {
  const count = workload.unschedulable ?? 0;
  if (count === 0) return;
  const podAt = (index: number) => podOf(workload, `large-${index}`, UNSCHEDULABLE);
  await bench.createPods(range(count, podAt));
  for (let index = 0; !signal.aborted; index = (index + 1) % count) {
    await systemClock.sleep(CHURN_MS, signal).catch(() => undefined);
    const key = { namespace: "default", name: `large-${index}` };
    await bench.client.delete(podKind, key, { gracePeriodSeconds: 0 });
    await bench.createPods([podAt(index)]);
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
