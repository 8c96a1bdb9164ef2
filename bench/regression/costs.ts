/**
 * What hot paths cost, in a form that does not depend on the machine: processor time as a multiple of
 * one JSON round trip of a pod, measured in turns with it in the same process; and whether a pod in a
 * cluster with many costs what it did in one with few. A regression shows as a larger number on any
 * machine, however busy.
 */
import type { Pod } from "#api/generated/core.v1.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { completed } from "#testing/build.ts";
import { type Cluster, startCluster } from "#testing/test-cluster.ts";

export interface Costs {
  /** In JSON round trips. */
  readonly create: number;
  readonly get: number;
  readonly update: number;
  /** Of one object of a list. */
  readonly listed: number;
  /** From its creation by a Deployment until it runs on a simulated node. */
  readonly podToRunning: number;
  /** The same with many pods there, as a multiple of what it was with few. */
  readonly growth: number;
}

const OBJECTS = 200;
const ROUNDS = 3;
const REPLICAS = 120;
const GROUPS = 5;
const NODES = 20;
const JSON_ROUNDS = 500;
const JSON_REPEATS = 5;

async function measureCosts(): Promise<Costs> {
  const verbs = await measureVerbs();
  const groups = await measureGroups();
  // The first group is slow everywhere: its code has not been compiled yet.
  const early = Math.min(...groups.slice(1, 3));
  const late = Math.min(...groups.slice(-2));
  return { ...verbs, podToRunning: Math.min(early, late), growth: late / early };
}

/** The best of several rounds: whatever disturbs a round makes it slower, never faster. */
async function measureVerbs(): Promise<Omit<Costs, "podToRunning" | "growth">> {
  await using cluster = await startCluster({ builtIn: false });
  const { client } = cluster;
  await cluster.apply(ACCOUNT);
  const key = (name: string) => ({ namespace: "default", name });
  const best = { create: Infinity, get: Infinity, update: Infinity, listed: Infinity };
  const keep = (name: keyof typeof best, micros: number, unit: number): void => {
    best[name] = Math.min(best[name], micros / OBJECTS / unit);
  };
  for (let round = 0; round < ROUNDS; round++) {
    const unit = jsonMicros();
    const names = Array.from({ length: OBJECTS }, (_, n) => `pod-${round}-${n}`);
    const create = (name: string) => succeed(client.create(podKind, podNamed(name)));
    keep("create", await cpuMicros(() => each(names, create)), unit);
    const get = (name: string) => succeed(client.get(podKind, key(name)));
    keep("get", await cpuMicros(() => each(names, get)), unit);
    const pods = names.map((name) => cluster.get<Pod>(podKind, name)!);
    const update = (pod: Pod) => succeed(client.update(podKind, labelled(pod)));
    keep("update", await cpuMicros(() => each(pods, update)), unit);
    const list = () => succeed(client.list(podKind, { namespace: "default" }));
    keep("listed", (await cpuMicros(list)) / (round + 1), unit);
  }
  return best;
}

/** What a pod of each group costs, one group after the other in one cluster. */
async function measureGroups(): Promise<readonly number[]> {
  await using cluster = await startCluster({ nodes: NODES });
  const costs: number[] = [];
  for (let group = 0; group < GROUPS; group++) {
    const unit = jsonMicros();
    const micros = await cpuMicros(() => cluster.apply(deployment(`web-${group}`)));
    if (running(cluster) !== (group + 1) * REPLICAS) throw new Error("not all pods run");
    costs.push(micros / REPLICAS / unit);
  }
  return costs;
}

function running(cluster: Cluster): number {
  return cluster.list<Pod>(podKind).filter(({ status }) => status.phase === "Running").length;
}

/** One after the other, as a single client does. */
async function each<T>(items: readonly T[], work: (item: T) => Promise<unknown>): Promise<void> {
  for (const item of items) await work(item);
}

async function cpuMicros(work: () => Promise<unknown>): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return user + system;
}

/** The unit: a pod as text and back. */
function jsonMicros(): number {
  const text = JSON.stringify(podNamed("json"));
  let best = Number.POSITIVE_INFINITY;
  for (let repeat = 0; repeat < JSON_REPEATS; repeat++) {
    const before = process.cpuUsage();
    let length = 0;
    for (let n = 0; n < JSON_ROUNDS; n++) length += JSON.stringify(JSON.parse(text)).length;
    const { user, system } = process.cpuUsage(before);
    if (length !== text.length * JSON_ROUNDS) throw new Error("the text changed");
    best = Math.min(best, (user + system) / JSON_ROUNDS);
  }
  return best;
}

/** Admission waits for it. */
const ACCOUNT = JSON.stringify({
  ...{ apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "default" } },
});

async function succeed(answer: Promise<{ readonly ok: boolean }>): Promise<void> {
  if (!(await answer).ok) throw new Error("refused");
}

function labelled(pod: Pod): Pod {
  return {
    ...pod,
    metadata: { ...pod.metadata, labels: { ...pod.metadata.labels, changed: "1" } },
  };
}

function podNamed(name: string): Pod {
  return completed(podKind, {
    metadata: { name, namespace: "default", labels: { app: "web", tier: "frontend" } },
    spec: {
      containers: [
        {
          ...{ name: "web", image: "registry.example.com/shop/web:1.25.3" },
          resources: { requests: { cpu: "100m", memory: "128Mi" } },
        },
      ],
    },
  }) as Pod;
}

function deployment(name: string): string {
  return JSON.stringify({
    ...{ apiVersion: "apps/v1", kind: "Deployment", metadata: { name } },
    spec: {
      replicas: REPLICAS,
      selector: { matchLabels: { app: name } },
      template: {
        metadata: { labels: { app: name } },
        spec: { containers: [{ name: "web", image: "web" }] },
      },
    },
  });
}

if (process.argv.includes("--print")) {
  process.stdout.write(`${JSON.stringify(await measureCosts())}\n`);
}
