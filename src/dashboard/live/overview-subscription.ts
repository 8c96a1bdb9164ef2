/**
 * The overview that a page follows: nodes, pods and warnings are watched and counted here, and the page gets
 * figures, at most once a second. The first message comes with the first nodes, before pods and warnings are
 * asked for, which take long in a large cluster. While pods are still being listed the page gets what was
 * counted so far.
 */
import type { IncomingMessage } from "node:http";
import { onAbort } from "#lib/async/aborted.ts";
import { deferred } from "#lib/async/deferred.ts";
import { runEvery } from "#lib/async/sleep.ts";
import type { FieldTree } from "#lib/json/field-tree.ts";
import { amountOf } from "../overview/amount-of.ts";
import { NewestWarnings } from "../overview/newest-warnings.ts";
import { NODE_FIELDS, OverviewCounts, POD_FIELDS } from "../overview/overview-counts.ts";
import { type Change, listWatch } from "./list-watch.ts";
import { itemsOf, remainingOf, uidOf } from "./live-objects.ts";
import type { LiveObject, UsedResources } from "./messages.ts";
import { Outbox } from "./outbox.ts";
import type { Subscription, SubscriptionOptions } from "./subscription.ts";

const FLUSH_EVERY_MS = 1_000;
const MEASURE_EVERY_MS = 15_000;
const METRICS_BYTES_MAX = 32 << 20;
const ACCEPT = "application/json";
const NODE_METRICS = "/apis/metrics.k8s.io/v1beta1/nodes";

export function subscribeOverview(options: SubscriptionOptions, signal: AbortSignal): Subscription {
  const { id, clock, api, send } = options;
  const counts = new OverviewCounts();
  const warnings = new NewestWarnings();
  let nodesTotal = 0;
  let podsTotal = 0;
  const counting = new Set(["nodes", "pods"]);
  let used: UsedResources | undefined;
  const begun = deferred<void>();
  onAbort(signal, begun.resolve);
  const outbox = new Outbox(clock, FLUSH_EVERY_MS, async () => {
    const changed = warnings.takeIfChanged();
    await send({
      ...{ id, type: "overview", figures: counts.figures() },
      ...{ nodesTotal, podsCounted: counts.podsCounted, podsTotal, isCounted: counting.size === 0 },
      ...(used === undefined ? {} : { used }),
      ...(changed === undefined ? {} : { warnings: changed }),
    });
  });
  const nodes: Store = {
    fields: NODE_FIELDS,
    clear: () => counts.clearNodes(),
    put: (object) => counts.putNode(uidOf(object), object),
    remove: (object) => counts.removeNode(uidOf(object)),
    onPage: (list) => {
      nodesTotal = counts.nodesCounted + remainingOf(list);
    },
    onSynced: () => counting.delete("nodes"),
  };
  const pods: Store = {
    fields: POD_FIELDS,
    clear: () => counts.clearPods(),
    put: (object) => counts.putPod(uidOf(object), object),
    remove: (object) => counts.removePod(uidOf(object)),
    onPage: (list) => {
      podsTotal = counts.podsCounted + remainingOf(list);
    },
    onSynced: () => counting.delete("pods"),
  };
  const follow = async (path: string, store: Store, fieldSelector = ""): Promise<void> => {
    const { fields = true } = store;
    const watched = { ...options, path, fieldSelector, accept: ACCEPT, fields };
    for await (const change of listWatch(watched, signal)) {
      if (change.type === "failed") {
        begun.resolve();
        void send({ id, type: "error", code: change.code, message: change.message });
      } else {
        take(change, store);
        outbox.changed();
        begun.resolve();
      }
    }
  };
  // Without a metrics server, or the right to ask it, there is no usage.
  const measure = async (): Promise<void> => {
    used = await api
      .get(NODE_METRICS, ACCEPT, signal)
      .then(usedBy)
      .catch(() => undefined);
    if (used !== undefined) outbox.changed();
  };
  const followOthers = async (): Promise<void> => {
    await begun.promise;
    void measure();
    await Promise.all([
      follow("/api/v1/pods", pods),
      follow("/api/v1/events", warnings, "type=Warning"),
      runEvery(clock, MEASURE_EVERY_MS, measure, signal),
    ]);
  };
  const done = Promise.all([follow("/api/v1/nodes", nodes), followOthers()]).then(() =>
    outbox.end(),
  );
  return { done };
}

/** What changes of a collection do. */
interface Store {
  /** What is read of lists; everything unless given. */
  readonly fields?: FieldTree;
  clear(): void;
  put(object: LiveObject): void;
  remove(object: LiveObject): void;
  onPage?(list: unknown): void;
  onSynced?(): unknown;
}

function take(change: Exclude<Change, { type: "failed" }>, store: Store): void {
  switch (change.type) {
    case "page":
      if (change.isFirst) store.clear();
      for (const object of itemsOf(change.value)) store.put(object);
      store.onPage?.(change.value);
      return;
    case "synced":
      store.onSynced?.();
      return;
    case "put":
      store.put(change.value as LiveObject);
      return;
    case "delete":
      store.remove(change.value as LiveObject);
      return;
  }
}

async function usedBy(answer: IncomingMessage): Promise<UsedResources | undefined> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > METRICS_BYTES_MAX) return undefined;
    chunks.push(chunk);
  }
  if (answer.statusCode !== 200) return undefined;
  const { items = [] } = JSON.parse(Buffer.concat(chunks).toString("utf8")) as NodeMetricsList;
  if (items.length === 0) return undefined; // no node is measured yet
  return { cpuCores: sumOf(items, "cpu"), memoryBytes: sumOf(items, "memory") };
}

interface NodeMetricsList {
  readonly items?: readonly { readonly usage?: Readonly<Record<string, string>> }[];
}

function sumOf(items: NonNullable<NodeMetricsList["items"]>, name: "cpu" | "memory"): number {
  return items.reduce((sum, { usage }) => sum + amountOf(usage?.[name], name), 0);
}
