/**
 * What the scheduler keeps in memory beside the objects themselves. The API server in this process
 * holds the objects and hands them out uncopied, so what the heap grows by when the scheduler starts
 * is its caches, its snapshot and its records.
 */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { startSchedulingBench } from "./scheduling-cluster.ts";
import { nodeOf, podOf, WORKLOADS } from "./workloads.ts";

const NODES = 5_000;
const PODS = 30_000;

/** Megabytes for 5,000 nodes with 30,000 pods. */
export async function measureMemory(): Promise<number> {
  const [workload] = WORKLOADS;
  await using bench = await startSchedulingBench();
  await bench.nodes(Array.from({ length: NODES }, (_, index) => nodeOf(workload!, index)));
  const pods = Array.from({ length: PODS }, (_, index) => {
    const pod = podOf(workload!, `pod-${index}`);
    return { ...pod, spec: { ...pod.spec, nodeName: `node-${index % NODES}` } };
  });
  await bench.seed(podKind, pods);
  // Objects are parsed when they are first read: that is not the scheduler's.
  await bench.client.list(podKind);
  const before = usedBytes();
  await bench.startScheduler();
  return (usedBytes() - before) / 2 ** 20;
}

function usedBytes(): number {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  collect();
  collect();
  return process.memoryUsage().heapUsed;
}
