/**
 * The answers of `metrics.k8s.io/v1beta1`: NodeMetrics and PodMetrics, one, lists and tables. Objects are
 * made when they are asked for, from the usage storage and the informers' caches of nodes and pods.
 */
import type { Node, Pod } from "#api/generated/core.v1.ts";
import { formatDuration } from "#api/meta/duration.ts";
import {
  type FieldSelector,
  matchesFields,
  parseFieldSelector,
  unknownFieldText,
} from "#api/meta/field-selector.ts";
import {
  EVERYTHING,
  matchesLabels,
  parseSelector,
  type Selector,
} from "#api/meta/label-selector.ts";
import { formatQuantity, quantityFrom } from "#api/meta/quantity.ts";
import {
  badRequestStatus,
  failure,
  notFoundStatus,
  type Result,
  success,
} from "#api/meta/status.ts";
import { timeFromMs } from "#api/meta/time.ts";
import type { ReadCache } from "#client/cache.ts";
import type { PodUsage, Usage } from "./node-usage.ts";
import type { UsageStorage } from "./usage-storage.ts";

export const METRICS_GROUP = "metrics.k8s.io";
export const METRICS_VERSION = "v1beta1";
const API_VERSION = `${METRICS_GROUP}/${METRICS_VERSION}`;

export interface ResourceMetricsSource {
  readonly storage: UsageStorage;
  readonly nodes: ReadCache<Node>;
  readonly pods: ReadCache<Pod>;
  nowMs(): number;
}

export interface MetricsQuery {
  readonly labelSelector: string;
  readonly fieldSelector: string;
}

interface Meta {
  readonly name: string;
  readonly namespace?: string;
  readonly creationTimestamp: string;
  readonly labels?: Readonly<Record<string, string>>;
}

type UsageText = Readonly<Record<"cpu" | "memory", string>>;

export interface MetricsObject {
  readonly kind?: string;
  readonly apiVersion?: string;
  readonly metadata: Meta;
  readonly timestamp: string;
  readonly window: string;
  readonly usage?: UsageText;
  readonly containers?: readonly { readonly name: string; readonly usage: UsageText }[];
}

export interface MetricsList {
  readonly kind: string;
  readonly apiVersion: string;
  readonly metadata: object;
  readonly items: readonly MetricsObject[];
}

export function getNodeMetrics(source: ResourceMetricsSource, name: string): Result<MetricsObject> {
  const node = source.nodes.get(undefined, name);
  const usage = node && source.storage.ofNode(name);
  if (usage === undefined) return missing("nodemetrics", name);
  return success({ ...typed("NodeMetrics"), ...nodeMetrics(node!, usage, source.nowMs()) });
}

export function listNodeMetrics(
  source: ResourceMetricsSource,
  query: MetricsQuery,
): Result<MetricsList> {
  const selected = selection(query);
  if (!selected.ok) return selected;
  const nowMs = source.nowMs();
  const items = [...source.nodes.list()].flatMap((node) => {
    if (!selected.value(node)) return [];
    const usage = source.storage.ofNode(node.metadata.name ?? "");
    return usage === undefined ? [] : [nodeMetrics(node, usage, nowMs)];
  });
  return success(list("NodeMetricsList", items));
}

export function getPodMetrics(
  source: ResourceMetricsSource,
  namespace: string,
  name: string,
): Result<MetricsObject> {
  const pod = source.pods.get(namespace, name);
  const usage = pod && source.storage.ofPod(pod.spec.nodeName ?? "", namespace, name);
  if (usage === undefined) return missing("podmetrics", `${namespace}/${name}`);
  return success({ ...typed("PodMetrics"), ...podMetrics(pod!, usage, source.nowMs()) });
}

/** Of all namespaces if it is "". */
export function listPodMetrics(
  source: ResourceMetricsSource,
  namespace: string,
  query: MetricsQuery,
): Result<MetricsList> {
  const selected = selection(query);
  if (!selected.ok) return selected;
  const nowMs = source.nowMs();
  const items: MetricsObject[] = [];
  for (const pod of source.pods.list(namespace === "" ? undefined : namespace)) {
    if (!selected.value(pod)) continue;
    const { name = "", namespace: own = "" } = pod.metadata;
    const usage = source.storage.ofPod(pod.spec.nodeName ?? "", own, name);
    if (usage !== undefined) items.push(podMetrics(pod, usage, nowMs));
  }
  return success(list("PodMetricsList", items));
}

/** As `kubectl get` prints them. */
export function metricsTable(items: readonly MetricsObject[]): object {
  const column = (name: string, format = "") => ({
    ...{ name, type: "string", format, description: "", priority: 0 },
  });
  return {
    kind: "Table",
    apiVersion: "meta.k8s.io/v1",
    metadata: {},
    columnDefinitions: [column("Name", "name"), column("cpu"), column("memory"), column("Window")],
    rows: items.map((item) => {
      const usages = item.usage === undefined ? (item.containers ?? []) : [{ usage: item.usage }];
      const sum = (resource: "cpu" | "memory"): string => sumText(usages, resource);
      return {
        cells: [item.metadata.name, sum("cpu"), sum("memory"), item.window],
        object: {
          ...{ kind: "PartialObjectMetadata", apiVersion: "meta.k8s.io/v1" },
          metadata: item.metadata,
        },
      };
    }),
  };
}

function sumText(
  usages: readonly { readonly usage: UsageText }[],
  resource: "cpu" | "memory",
): string {
  const total = usages.reduce((sum, { usage }) => sum + amountOf(usage[resource]), 0);
  return resource === "cpu" ? cpuText(total) : memoryText(total);
}

/** Of texts that this file made. */
function amountOf(text: string): number {
  const value = Number.parseFloat(text);
  const unit = text.replace(/^[\d.]+/, "");
  return value * (UNITS.get(unit) ?? 1);
}

const UNITS: ReadonlyMap<string, number> = new Map([
  ["n", 1e-9],
  ["u", 1e-6],
  ["m", 1e-3],
  ["Ki", 1024],
  ["Mi", 1024 ** 2],
  ["Gi", 1024 ** 3],
  ["Ti", 1024 ** 4],
]);

function nodeMetrics(node: Node, usage: Usage, nowMs: number): MetricsObject {
  return { metadata: metaOf(node, nowMs), ...timesOf(usage), usage: usageText(usage) };
}

function podMetrics(pod: Pod, usage: PodUsage, nowMs: number): MetricsObject {
  return {
    metadata: metaOf(pod, nowMs),
    ...timesOf(usage),
    containers: usage.containers.map(({ name, usage: own }) => ({ name, usage: usageText(own) })),
  };
}

function metaOf({ metadata }: Node | Pod, nowMs: number): Meta {
  const { name = "", namespace, labels } = metadata;
  return {
    name,
    ...(namespace === undefined ? {} : { namespace }),
    creationTimestamp: timeFromMs(nowMs),
    ...(labels === undefined ? {} : { labels }),
  };
}

function timesOf({ timeMs, windowMs }: { readonly timeMs: number; readonly windowMs: number }) {
  const window = formatDuration(BigInt(Math.round(windowMs)) * 1_000_000n);
  return { timestamp: timeFromMs(timeMs), window };
}

function usageText({ cpuCores, memoryBytes }: Usage): UsageText {
  return { cpu: cpuText(cpuCores), memory: memoryText(memoryBytes) };
}

function cpuText(cores: number): string {
  return formatQuantity(quantityFrom(Math.round(cores * 1e9), "DecimalSI", -9));
}

function memoryText(bytes: number): string {
  return formatQuantity(quantityFrom(Math.round(bytes), "BinarySI"));
}

function typed(kind: string) {
  return { kind, apiVersion: API_VERSION };
}

function list(kind: string, items: MetricsObject[]): MetricsList {
  items.sort((a, b) => order(a.metadata, b.metadata));
  return { ...typed(kind), metadata: {}, items };
}

function order(a: Meta, b: Meta): number {
  const [x, y] = [a.namespace ?? "", b.namespace ?? ""];
  if (x !== y) return x < y ? -1 : 1;
  return a.name < b.name ? -1 : 1;
}

function missing(resource: string, name: string) {
  return failure(notFoundStatus({ group: METRICS_GROUP, resource }, name));
}

function selection(query: MetricsQuery): Result<(object: Node | Pod) => boolean> {
  const labels = query.labelSelector === "" ? undefined : parseSelector(query.labelSelector);
  if (labels !== undefined && !labels.ok) return failure(badRequestStatus(labels.error));
  const fields = parseFieldSelector(query.fieldSelector);
  if (!fields.ok) return failure(badRequestStatus(fields.error));
  const unknown = fields.value.find(({ field }) => !FIELDS.has(field));
  if (unknown !== undefined) return failure(badRequestStatus(unknownFieldText(unknown.field)));
  return success(predicate(labels?.value ?? EVERYTHING, fields.value));
}

const FIELDS: ReadonlySet<string> = new Set(["metadata.name", "metadata.namespace"]);

function predicate(labels: Selector, fields: FieldSelector): (object: Node | Pod) => boolean {
  return ({ metadata: { name = "", namespace = "", labels: own } }) =>
    matchesLabels(labels, own) &&
    matchesFields(fields, { "metadata.name": name, "metadata.namespace": namespace });
}
