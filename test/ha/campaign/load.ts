/**
 * The load of the fault campaign, a program on a machine of its own. It reads its plan from the file that it
 * is given, and records what it sees until SIGTERM; then the watches catch up, every API server lists all
 * objects once more, and it ends.
 */
import { createWriteStream, readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { type Random, seededRandom } from "#lib/random.ts";
import { runDeploymentScaler } from "./deployment-scaler.ts";
import type { HistoryRecord } from "./history.ts";
import { LoadClient, type LoadTarget } from "./load-client.ts";
import { isOwn, itemOf, type LoadWatch, runWatch, type WatchedObject } from "./load-watch.ts";
import { CONFIG_MAPS, runItemWriter, runRegisterWriter } from "./load-writers.ts";

export interface LoadPlan {
  readonly targets: readonly LoadTarget[];
  readonly ca: string;
  readonly token: string;
  readonly seed: number;
  /** The history goes there. */
  readonly file: string;
  readonly registerWriters: number;
  readonly registers: number;
  readonly itemWriters: number;
}

const LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases";
const PODS = "/api/v1/namespaces/default/pods";
const CATCH_UP_WITHIN_MS = 60_000;

const path = process.argv[2];
if (path !== undefined) await run(JSON.parse(readFileSync(path, "utf8")) as LoadPlan);

async function run(plan: LoadPlan): Promise<void> {
  const { targets, ca, token, registers } = plan;
  const out = createWriteStream(plan.file, { flags: "a" });
  const newest = new Map<string, number>();
  const record = (one: HistoryRecord): void => {
    out.write(`${JSON.stringify(one)}\n`);
    if (one.k === "event") newest.set(one.watcher, one.revision);
  };
  const random: Random = seededRandom(plan.seed);
  const client = (): LoadClient => new LoadClient({ targets, ca, token, random });
  const [writing, watching] = [new AbortController(), new AbortController()];
  const watch = (at: number): LoadWatch => ({
    ...{ name: `watch-${at}`, ca, token, path: CONFIG_MAPS, client: client(), record },
    targets: [...targets.slice(at), ...targets.slice(0, at)],
  });
  const watches = targets.map((_, at) => runWatch(watch(at), watching.signal));
  const leases = { ...watch(0), path: LEASES, onObject: leaseRecorder(record) };
  const pods = { ...watch(0), path: PODS, onObject: bindingRecorder(record) };
  watches.push(runWatch(leases, watching.signal), runWatch(pods, watching.signal));
  const writers = [
    ...each(plan.registerWriters, (at) =>
      runRegisterWriter(`w${at}`, registers, client(), random, record, writing.signal),
    ),
    ...each(plan.itemWriters, (at) => runItemWriter(`i${at}`, client(), record, writing.signal)),
    runDeploymentScaler(client(), random, writing.signal),
  ];
  await new Promise((resolve) => process.once("SIGTERM", resolve));
  writing.abort();
  await Promise.all(writers);
  await finish(plan, client(), newest, record);
  watching.abort();
  await Promise.all(watches);
  await new Promise<void>((resolve) => out.end(() => resolve()));
  process.exit(0);
}

/** All lists are taken and all watches have seen the newest object; a watch that never does has missed it. */
async function finish(
  { targets }: LoadPlan,
  client: LoadClient,
  newest: ReadonlyMap<string, number>,
  record: (one: HistoryRecord) => void,
): Promise<void> {
  let last = 0;
  for (const target of targets) {
    for (;;) {
      const { code, json } = await client.askOne(target, { method: "GET", path: CONFIG_MAPS });
      if (code !== 200) {
        await sleep(100);
        continue;
      }
      const items = (json.items as WatchedObject[]).filter(isOwn).map(itemOf);
      last = Math.max(last, ...items.map(([, revision]) => revision));
      record({ k: "final", server: target.name, items });
      break;
    }
  }
  const endMs = performance.now() + CATCH_UP_WITHIN_MS;
  while (performance.now() < endMs) {
    const behind = targets.some((_, at) => (newest.get(`watch-${at}`) ?? 0) < last);
    if (!behind) break;
    await sleep(50);
  }
  await sleep(500); // an event that comes twice has time to come
}

function leaseRecorder(record: (one: HistoryRecord) => void): NonNullable<LoadWatch["onObject"]> {
  return (type, { metadata, spec }) => {
    const { name, resourceVersion } = metadata;
    if (!/^kube-(controller-manager|scheduler)$/.test(name)) return;
    const holder = type === "DELETED" ? "" : (spec?.holderIdentity ?? "");
    record({ k: "lease", name, holder, revision: Number(resourceVersion) });
  };
}

function bindingRecorder(record: (one: HistoryRecord) => void): NonNullable<LoadWatch["onObject"]> {
  const bound = new Set<string>();
  return (_, { metadata: { name, resourceVersion }, spec }) => {
    if (spec?.nodeName === undefined || bound.has(name)) return;
    bound.add(name);
    record({ k: "bound", pod: name, revision: Number(resourceVersion) });
  };
}

function each(count: number, run: (at: number) => Promise<void>): Promise<void>[] {
  return Array.from({ length: count }, (_, at) => run(at));
}
