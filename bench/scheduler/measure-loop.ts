/** The longest turn of the event loop of a scheduler in a process of its own, under a workload. */
import { execFileSync, spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { startSchedulingBench } from "./scheduling-cluster.ts";
import { seedDevices } from "./seed-devices.ts";
import { nodeOf, podOf, type Workload } from "./workloads.ts";

const LAUNCHER = fileURLToPath(new URL("../../k8ts", import.meta.url));
const PROGRAM = fileURLToPath(new URL("../../dist/k8ts.js", import.meta.url));
const WATCH = fileURLToPath(new URL("../load/watch-loop.ts", import.meta.url));

/** Milliseconds of processor time. The start of the program and the filling of its caches do not count. */
export async function measureLongestTurn(workload: Workload): Promise<number> {
  execFileSync(LAUNCHER, ["--version"], { stdio: "ignore" }); // builds the program if need be
  await using bench = await startSchedulingBench();
  const { nodes, before, measured } = workload;
  await bench.nodes(Array.from({ length: nodes }, (_, index) => nodeOf(workload, index)));
  if (workload.devicesPerNode !== undefined) {
    await seedDevices(bench, nodes, workload.devicesPerNode);
    bench.startClaimController();
  }
  const podsOf = (count: number, name: string, spec: Workload["pod"]) =>
    Array.from({ length: count }, (_, index) => podOf(workload, `${name}-${index}`, spec?.(index)));
  const first = podsOf(Math.max(1, before), "before", workload.podBefore);
  await bench.createPods(first);
  const report = join(bench.folder, "longest-turn");
  const flags = ["--kubeconfig", bench.kubeconfig, "--leader-elect=false", "--secure-port=0"];
  const child = spawn(process.execPath, ["--import", WATCH, PROGRAM, "scheduler", ...flags], {
    ...{ stdio: "ignore", env: { ...process.env, LOOP_REPORT: report } },
  });
  const exit = new Promise((resolve) => child.once("exit", resolve));
  try {
    await bench.untilBound(first.map((pod) => pod.metadata?.name ?? ""));
    child.kill("SIGUSR2");
    const pods = podsOf(measured, "pod", workload.pod);
    await bench.createPods(pods);
    await bench.untilBound(pods.map((pod) => pod.metadata?.name ?? ""));
  } finally {
    child.kill("SIGTERM");
    await exit;
  }
  return Number(readFileSync(report, "utf8"));
}
