/**
 * Starts clusters of the built `k8ts/testing`, as a test of a user does, and prints how long that took and
 * what they take. Runs as a program, so that nothing else is in its memory: `measure-clusters.ts FILE COUNT`.
 */
/** Of one run. */
export interface ClusterFigures {
  /** The first cluster of a process, whose code has not run yet. */
  readonly firstMs: number;
  /** The median of the next ones. */
  readonly nextMs: number;
  /** What an open cluster adds to the live memory of the process. */
  readonly memoryMb: number;
  /** So many clusters, each started, used and ended before the next. */
  readonly isolatedSeconds: number;
}

const OPEN = 20;
const CONFIG_MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: { name: mine }\n";

interface TestCluster extends AsyncDisposable {
  apply(yaml: string): Promise<unknown>;
}

interface Testing {
  startCluster(): Promise<TestCluster>;
}

async function measure({ startCluster }: Testing, count: number): Promise<ClusterFigures> {
  const timed = async (): Promise<{ ms: number; cluster: TestCluster }> => {
    const startMs = performance.now();
    const cluster = await startCluster();
    return { ms: performance.now() - startMs, cluster };
  };
  const first = await timed();
  await first.cluster[Symbol.asyncDispose]();
  const isolatedMs = performance.now();
  const times: number[] = [];
  for (let index = 0; index < count; index++) {
    const { ms, cluster } = await timed();
    times.push(ms);
    await cluster.apply(CONFIG_MAP);
    await cluster[Symbol.asyncDispose]();
  }
  const isolatedSeconds = (performance.now() - isolatedMs) / 1_000;
  const before = liveMb();
  const open: TestCluster[] = [];
  for (let index = 0; index < OPEN; index++) open.push((await timed()).cluster);
  const memoryMb = (liveMb() - before) / OPEN;
  for (const cluster of open) await cluster[Symbol.asyncDispose]();
  const nextMs = times.toSorted((a, b) => a - b)[times.length >> 1] ?? Number.NaN;
  return { firstMs: first.ms, nextMs, memoryMb, isolatedSeconds };
}

/** After a collection. Resident memory says nothing here: it still holds that of the clusters that have ended. */
function liveMb(): number {
  globalThis.gc?.();
  const { heapUsed, external } = process.memoryUsage();
  return (heapUsed + external) / 2 ** 20;
}

const [, , file, count] = process.argv;
if (file !== undefined && count !== undefined) {
  const testing = (await import(file)) as Testing;
  process.stdout.write(`${JSON.stringify(await measure(testing, Number(count)))}\n`);
}
