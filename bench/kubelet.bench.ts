/**
 * `k8ts kubelet` on a real containerd, in a network of its own: pods from their creation through the
 * API until they are Ready and until they are gone, beside the same CRI calls made bare in the same
 * run; exec beside the same stream to the runtime; logs; memory and processor time of the kubelet
 * alone with 20 pods that have probes. Needs root.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { runProgram } from "#host/run-program.ts";
import { systemClock } from "#lib/time/system-clock.ts";
import { NODE, type NodeCluster, startNodeCluster } from "../test/e2e/node/cluster.ts";
import { until } from "../test/e2e/node/eventually.ts";
import { BUSYBOX } from "../test/e2e/node/runtime.ts";
import { type PodTimes, type PodTimesSettings, podTimes } from "./kubelet/pod-times.ts";
import {
  median,
  type StreamTimes,
  type StreamTimesSettings,
  streamTimes,
} from "./kubelet/stream-times.ts";
import { withUpstreamKubelet } from "./kubelet/upstream-kubelet.ts";
import { cpuMs, LAUNCHER, residentMb } from "./load/server-processes.ts";
import type { BenchOptions, Row } from "./row.ts";

export const name = "kubelet";

const MEMORY_MB = 80;
/** Percent of one core. */
const IDLE_CPU = 0.5;
const PODS = 20;
/** Of each kubelet, one after the other. */
const UPSTREAM_TURNS = 3;
const LOG_MB_PER_SECOND = 200;
const POD_TIMES = "--pod-times";
const STREAM_TIMES = "--stream-times";
/** Upstream's kubelet, to measure it in the same run: the program, or the folder that it is in. */
const UPSTREAM =
  process.env.K8TS_KUBELET ??
  (process.env.K8TS_UPSTREAM_BIN && join(process.env.K8TS_UPSTREAM_BIN, "kubelet"));

export async function* run({ quick, progress }: BenchOptions): AsyncIterable<Row> {
  // The log that is read is one file.
  await using cluster = await startNodeCluster(() => ["--container-log-max-size", "2Gi"], {
    kubeletProgram: LAUNCHER, // its settings count for memory
    env: () => ({ K8TS_NODE: process.execPath }),
  });
  progress("pods");
  const times = await podTimesOf(cluster, quick);
  const bare = { limitName: "the CRI calls made bare" };
  yield {
    ...{ name: "pod created to Ready", value: times.readyMs, unit: "ms", target: 1.25 },
    ...bare,
    limit: times.bareReadyMs,
  };
  yield {
    ...{ name: "30 pods at once", value: times.burstPerSecond, unit: "pods/s", target: 0.85 },
    ...bare,
    limit: times.bareBurstPerSecond,
  };
  yield {
    ...{ name: "pod deleted to gone", value: times.goneMs, unit: "ms", target: 1.25 },
    ...bare,
    limit: times.bareGoneMs,
  };
  yield* streams(cluster, quick, progress);
  progress("idle");
  await cluster.apply(...Array.from({ length: PODS }, (_, i) => probed(`idle-${i}`)));
  await until(async () => (await readyPods(cluster)) === PODS, {
    timeoutMs: 120_000,
    everyMs: 500,
  });
  await systemClock.sleep(quick ? 2_000 : 20_000);
  const pid = await kubeletPid(cluster);
  yield {
    name: `memory with ${PODS} pods`,
    value: residentMb(pid),
    unit: "MB",
    limit: MEMORY_MB,
    limitName: "wanted",
    target: 1,
  };
  const windowMs = quick ? 5_000 : 30_000;
  const before = cpuMs(pid);
  await systemClock.sleep(windowMs);
  const share = ((cpuMs(pid) - before) / windowMs) * 100;
  yield {
    name: `idle processor time with ${PODS} pods`,
    value: share,
    unit: "% of a core",
    limit: IDLE_CPU,
    limitName: "wanted",
    target: 1,
  };
  if (UPSTREAM) yield* besideUpstream(cluster, UPSTREAM, quick, progress);
}

async function* streams(
  cluster: NodeCluster,
  quick: boolean,
  progress: BenchOptions["progress"],
): AsyncIterable<Row> {
  progress("exec and logs");
  const bytes = quick ? 30e6 : 300e6;
  const script = `yes 'a line of a log that is about as long as lines of logs are, in words and figures' | head -c ${bytes}; echo; echo end; sleep 3600`;
  await cluster.apply(plain("streams"), plain("talker", ["sh", "-c", script]));
  await until(async () => (await readyPods(cluster)) === 2, { timeoutMs: 60_000 });
  const lastLine = () => cluster.kubectl("logs", "talker", "--tail=1");
  await until(async () => (await lastLine()) === "end\n", { timeoutMs: 120_000 });
  const { machine, runtime } = cluster;
  const times = await inside<StreamTimes>(cluster, STREAM_TIMES, {
    kubeconfig: join(machine.dir, "data/kubeconfig"),
    ...{ endpoint: runtime.endpoint, pod: "streams", talker: "talker", rounds: quick ? 10 : 40 },
  } satisfies StreamTimesSettings);
  yield {
    ...{ name: "exec round trip", value: times.execMs, unit: "ms", target: 1.5 },
    ...{ limit: times.bareExecMs, limitName: "the CRI call and its stream made bare" },
  };
  const log = { value: times.logMbPerSecond, unit: "MB/s" };
  yield {
    ...{ name: `a log of ${Math.round(times.logMb)} MB`, ...log, target: 0.5 },
    ...{ limit: times.bareLogMbPerSecond, limitName: "a bare HTTPS server" },
  };
  yield {
    ...{ name: "… as wanted on a machine at rest", ...log, target: 1 },
    ...{ limit: LOG_MB_PER_SECOND, limitName: "wanted" },
  };
  await cluster.kubectl("delete", "pods", "--all", "--grace-period=0", "--force");
}

/**
 * In turns, so that a machine that is busy for a while is busy for both. The bare CRI calls of the same
 * turns say what a kubelet that takes no time itself would reach.
 */
async function* besideUpstream(
  cluster: NodeCluster,
  program: string,
  quick: boolean,
  progress: BenchOptions["progress"],
): AsyncIterable<Row> {
  await cluster.kubectl("delete", "pods", "--all", "--wait=true", "--grace-period=1");
  const theirs: PodTimes[] = [];
  const ours: PodTimes[] = [];
  const turns = quick ? 1 : UPSTREAM_TURNS;
  for (let turn = 1; turn <= turns; turn++) {
    progress(`upstream's kubelet, turn ${turn} of ${turns}`);
    theirs.push(
      await withUpstreamKubelet(cluster, program, () => podTimesOf(cluster, quick, false)),
    );
    ours.push(await podTimesOf(cluster, quick));
  }
  const limitName = "upstream's kubelet";
  const readyMs = (times: readonly PodTimes[]): number => median(times.map((one) => one.readyMs));
  const burst = (times: readonly PodTimes[]): number =>
    median(times.map((one) => one.burstPerSecond));
  yield {
    ...{ name: "Ready, beside upstream's", value: readyMs(ours), unit: "ms", target: 0.6 },
    ...{ limit: readyMs(theirs), limitName },
  };
  yield {
    ...{ name: "30 pods, beside upstream's", value: burst(ours), unit: "pods/s" },
    ...{ limit: burst(theirs), limitName, target: 2 },
  };
  yield {
    name: "the bare CRI calls, beside upstream's Ready",
    ...{ value: median(ours.map((one) => one.bareReadyMs)), unit: "ms" },
    ...{ limit: readyMs(theirs), limitName },
  };
  yield {
    name: "30 pods made by bare CRI calls, beside upstream's",
    ...{ value: median(ours.map((one) => one.bareBurstPerSecond)), unit: "pods/s" },
    ...{ limit: burst(theirs), limitName },
  };
}

async function podTimesOf(
  cluster: NodeCluster,
  quick: boolean,
  withBare = true,
): Promise<PodTimes> {
  const { machine, runtime } = cluster;
  return inside<PodTimes>(cluster, POD_TIMES, {
    kubeconfig: join(machine.dir, "data/kubeconfig"),
    ...{ endpoint: runtime.endpoint, node: NODE, image: BUSYBOX },
    folder: join(machine.dir, "bare"),
    ...{ cgroupParent: `${machine.cgroupRoot}/bare`, rounds: quick ? 5 : 15, burst: 30, withBare },
  } satisfies PodTimesSettings);
}

/** Runs a part of this file inside the machine. */
async function inside<Times>(
  { machine }: NodeCluster,
  part: string,
  settings: object,
): Promise<Times> {
  const program = fileURLToPath(import.meta.url);
  const args = ["--import", import.meta.resolve("tsx"), program, part, JSON.stringify(settings)];
  const result = await machine.run(process.execPath, args);
  const line = result.stdout.split("\n").find((one) => one.startsWith("{"));
  if (line === undefined) throw new Error(result.stderr);
  return JSON.parse(line) as Times;
}

function plain(pod: string, command?: readonly string[]): object {
  const container = { name: "main", image: BUSYBOX, imagePullPolicy: "Never", command };
  return {
    ...{ apiVersion: "v1", kind: "Pod", metadata: { name: pod, namespace: "default" } },
    spec: { nodeName: NODE, terminationGracePeriodSeconds: 1, containers: [container] },
  };
}

function probed(pod: string): object {
  const probe = { exec: { command: ["true"] }, periodSeconds: 10 };
  const container = {
    name: "main",
    image: BUSYBOX,
    imagePullPolicy: "Never",
    readinessProbe: probe,
  };
  return {
    ...{ apiVersion: "v1", kind: "Pod", metadata: { name: pod, namespace: "default" } },
    spec: { nodeName: NODE, containers: [container] },
  };
}

async function readyPods(cluster: NodeCluster): Promise<number> {
  const path = `{range .items[*]}{.status.conditions[?(@.type=="Ready")].status} {end}`;
  const text = await cluster.kubectl("get", "pods", "-o", `jsonpath=${path}`);
  return text.split(" ").filter((status) => status === "True").length;
}

/** As this process numbers it, not as the machine does. */
async function kubeletPid({ machine }: NodeCluster): Promise<number> {
  const { stdout } = await runProgram("pgrep", ["-f", `k8ts.js kubelet .*${machine.dir}`]);
  const pids = stdout.trim().split("\n").map(Number);
  const own = pids.filter(
    (pid) => !readFileSync(`/proc/${pid}/comm`, "utf8").startsWith("nsenter"),
  );
  return own[0] ?? Number.NaN;
}

const PARTS: Readonly<Record<string, (settings: never) => Promise<object>>> = {
  [POD_TIMES]: podTimes,
  [STREAM_TIMES]: streamTimes,
};

const [part = "", settings = "{}"] = process.argv.slice(2);
const runPart = Object.hasOwn(PARTS, part) ? PARTS[part] : undefined;
if (runPart !== undefined) {
  process.stdout.write(`${JSON.stringify(await runPart(JSON.parse(settings) as never))}\n`);
}
