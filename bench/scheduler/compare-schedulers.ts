/**
 * One scheduler in a process of its own, on our API server with pods that wait already: how fast it
 * binds them, and with how much processor time. Starting and filling its caches does not count.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { systemClock } from "#lib/time/system-clock.ts";
import { cpuMs } from "../load/server-processes.ts";
import { type SchedulingBench, startSchedulingBench } from "./scheduling-cluster.ts";
import { nodeOf, podOf, WORKLOADS } from "./workloads.ts";

const NODES = 1_000;
const PODS = 3_000;
const WITHIN_MS = 300_000;
const LAUNCHER = fileURLToPath(new URL("../../k8ts", import.meta.url));

export interface SchedulerSpeed {
  readonly rate: number;
  /** Pods bound in a second of the scheduler's own processor time. */
  readonly cpuRate: number;
}

/** With `program`, a kube-scheduler; without, ours. */
export async function measureScheduler(program: string | undefined): Promise<SchedulerSpeed> {
  await using bench = await startSchedulingBench();
  const [workload] = WORKLOADS;
  await bench.nodes(Array.from({ length: NODES }, (_, index) => nodeOf(workload!, index)));
  await bench.createPods(
    Array.from({ length: PODS }, (_, index) => podOf(workload!, `pod-${index}`)),
  );
  const flags = ["--kubeconfig", bench.kubeconfig, "--leader-elect=false", "--secure-port=0"];
  const limits = ["--kube-api-qps=5000", "--kube-api-burst=5000"];
  const child =
    program === undefined
      ? spawn(LAUNCHER, ["scheduler", ...flags], { stdio: "ignore" })
      : spawn(program, [...flags, ...limits], { stdio: "ignore" });
  const exit = new Promise((resolve) => child.once("exit", resolve));
  try {
    return await untilAllBound(bench, child);
  } finally {
    child.kill("SIGKILL");
    await exit;
  }
}

async function untilAllBound(bench: SchedulingBench, child: ChildProcess): Promise<SchedulerSpeed> {
  const giveUpMs = performance.now() + WITHIN_MS;
  const pass = async (): Promise<void> => {
    if (child.exitCode !== null) throw new Error(`the scheduler ended with ${child.exitCode}`);
    if (performance.now() > giveUpMs) throw new Error(`${bench.boundCount} pods are bound`);
    await systemClock.sleep(2);
  };
  while (bench.boundCount === 0) await pass();
  const before = { ms: performance.now(), cpuMs: cpuMs(child.pid!), count: bench.boundCount };
  while (bench.boundCount < PODS) await pass();
  const count = PODS - before.count;
  return {
    rate: (count / (performance.now() - before.ms)) * 1_000,
    cpuRate: (count / (cpuMs(child.pid!) - before.cpuMs)) * 1_000,
  };
}
