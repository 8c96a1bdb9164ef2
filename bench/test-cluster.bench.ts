/**
 * `k8ts/testing` as a user's test has it: how soon a cluster is there once the module is loaded, what an
 * open one takes, and how long many take that are started, used and ended one after the other.
 */
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { launcherMs } from "./load/server-processes.ts";
import type { BenchOptions, Row } from "./row.ts";
import type { ClusterFigures } from "./test-cluster/measure-clusters.ts";

export const name = "test-cluster";

const START_MS = 100;
const MEMORY_MB = 20;
const CLUSTERS = 100;
const QUICK_CLUSTERS = 20;
const CLUSTERS_SECONDS = 10;

export async function* run({ quick, progress, signal }: BenchOptions): AsyncIterable<Row> {
  await launcherMs(); // builds if need be
  const count = quick ? QUICK_CLUSTERS : CLUSTERS;
  progress(`${count} clusters`);
  const { firstMs, nextMs, memoryMb, isolatedSeconds } = await measured(count, signal);
  yield { name: "first cluster of a process", value: firstMs, unit: "ms" };
  yield wanted("start of a cluster, the median", nextMs, "ms", START_MS);
  yield wanted("memory of an open cluster", memoryMb, "MB", MEMORY_MB);
  const wish = (CLUSTERS_SECONDS * count) / CLUSTERS;
  yield wanted(`${count} clusters, one after the other`, isolatedSeconds, "s", wish);
}

async function measured(count: number, signal: AbortSignal): Promise<ClusterFigures> {
  const script = fileURLToPath(new URL("test-cluster/measure-clusters.ts", import.meta.url));
  const built = new URL("../dist/testing.js", import.meta.url).href;
  const args = [...process.execArgv, "--expose-gc", script, built, `${count}`];
  const { stdout } = await promisify(execFile)(process.execPath, args, { signal });
  return JSON.parse(stdout) as ClusterFigures;
}

function wanted(row: string, value: number, unit: string, wish: number): Row {
  return { name: row, value, unit, limit: wish, limitName: `${unit} wanted`, target: 1 };
}
