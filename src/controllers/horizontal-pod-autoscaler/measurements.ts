/**
 * Reads the metrics APIs for a target: a value for each pod, or one value for all. An error is a text,
 * as the conditions of the autoscaler show it.
 */
import type { CrossVersionObjectReference, MetricSpec } from "#api/generated/autoscaling.v2.ts";
import type { LabelSelector } from "#api/generated/meta.v1.ts";
import { parseDuration } from "#api/meta/duration.ts";
import { formatSelector, selectorOf } from "#api/meta/label-selector.ts";
import { quantityMilliValue, quantityOf } from "#api/meta/quantity.ts";
import { timeToMs } from "#api/meta/time.ts";
import type { Reader } from "#runtime/controller.ts";
import { resourceOfKind } from "../shared/scale-target.ts";
import { selectorText } from "../shared/selector-text.ts";

export interface PodMeasure {
  readonly milli: number;
  readonly atMs: number;
  readonly windowMs: number;
}

export type Measured =
  | { readonly ok: true; readonly pods: ReadonlyMap<string, PodMeasure> }
  | { readonly ok: true; readonly totalMilli: number }
  | { readonly ok: false; readonly error: string };

interface PodMetricsList {
  readonly items?: readonly {
    readonly metadata: { readonly name: string };
    readonly timestamp: string;
    readonly window: string;
    readonly containers?: readonly {
      readonly name: string;
      readonly usage: Readonly<Record<string, string>>;
    }[];
  }[];
}

interface MetricValueList {
  readonly items?: readonly {
    readonly describedObject?: { readonly name: string };
    readonly timestamp: string;
    readonly windowSeconds?: number;
    readonly value: string;
  }[];
}

const CUSTOM = "custom.metrics.k8s.io";
const WINDOW_MS = 60_000;

export async function measure(
  reader: Reader,
  namespace: string,
  metric: MetricSpec,
  podSelector: string,
): Promise<Measured> {
  const { resource, containerResource, pods, object, external } = metric;
  if (resource !== undefined) return usage(reader, namespace, resource.name, podSelector);
  if (containerResource !== undefined) {
    const { name, container } = containerResource;
    return usage(reader, namespace, name, podSelector, container);
  }
  if (pods !== undefined) return ofPods(reader, namespace, pods.metric, podSelector);
  if (object !== undefined) {
    return ofObject(reader, namespace, object.metric, object.describedObject);
  }
  if (external !== undefined) return fromOutside(reader, namespace, external.metric);
  return { ok: false, error: `unknown metric source type "${metric.type}"` };
}

async function usage(
  reader: Reader,
  namespace: string,
  resource: string,
  selector: string,
  container?: string,
): Promise<Measured> {
  const path = `/apis/metrics.k8s.io/v1beta1/namespaces/${namespace}/pods`;
  const answer = await reader.raw(`${path}?labelSelector=${encodeURIComponent(selector)}`);
  const source = `unable to get metrics for resource ${resource}`;
  if (!answer.ok) {
    const why = explain(answer.status.message, "pods.metrics.k8s.io");
    return fail(`${source}: unable to fetch metrics from resource metrics API: ${why}`);
  }
  const { items = [] } = answer.value as PodMetricsList;
  if (items.length === 0) {
    return fail(`${source}: no metrics returned from resource metrics API`);
  }
  const measured = new Map<string, PodMeasure>();
  for (const { metadata, timestamp, window, containers = [] } of items) {
    const counted = containers.filter(({ name }) => container === undefined || name === container);
    const values = counted.map(({ usage: used }) => used[resource]);
    // A pod of which a part is unknown is unknown.
    if (values.length === 0 || values.includes(undefined)) continue;
    const milli = values.reduce((sum, value) => sum + milliOf(value ?? "0"), 0);
    measured.set(metadata.name, { milli, atMs: timeToMs(timestamp), windowMs: durationMs(window) });
  }
  return { ok: true, pods: measured };
}

async function ofPods(
  reader: Reader,
  namespace: string,
  metric: { readonly name: string; readonly selector?: LabelSelector },
  podSelector: string,
): Promise<Measured> {
  const source = `unable to get metric ${metric.name}`;
  const query = { labelSelector: podSelector, ...metricSelector(metric.selector) };
  const list = await custom(reader, `namespaces/${namespace}/pods/*/${metric.name}`, query);
  if (!list.ok) return fail(`${source}: ${list.error}`);
  if (list.items.length === 0) {
    return fail(`${source}: no metrics returned from custom metrics API`);
  }
  const measured = list.items.map(({ describedObject, timestamp, windowSeconds, value }) => {
    const windowMs = windowSeconds === undefined ? WINDOW_MS : windowSeconds * 1000;
    const measure: PodMeasure = { milli: milliOf(value), atMs: timeToMs(timestamp), windowMs };
    return [describedObject?.name ?? "", measure] as const;
  });
  return { ok: true, pods: new Map(measured) };
}

async function ofObject(
  reader: Reader,
  namespace: string,
  metric: { readonly name: string; readonly selector?: LabelSelector },
  { apiVersion = "", kind, name }: CrossVersionObjectReference,
): Promise<Measured> {
  const failed = (why: string): Measured =>
    fail(`unable to get metric ${metric.name}: ${kind} on ${namespace} ${name}/${why}`);
  const found = await resourceOfKind(reader, apiVersion, kind);
  if (!found.ok) return failed(`unable to fetch metrics from custom metrics API: ${found.error}`);
  const { group, names } = found.resource;
  const resource = group === "" ? names.plural : `${names.plural}.${group}`;
  const path =
    group === "" && kind === "Namespace"
      ? `namespaces/${namespace}/metrics/${metric.name}`
      : `namespaces/${namespace}/${resource}/${name}/${metric.name}`;
  const list = await custom(reader, path, metricSelector(metric.selector));
  if (!list.ok) return failed(list.error);
  const [first] = list.items;
  return first === undefined
    ? failed("unable to fetch metrics from custom metrics API: no metrics returned")
    : { ok: true, totalMilli: milliOf(first.value) };
}

async function fromOutside(
  reader: Reader,
  namespace: string,
  { name, selector }: { readonly name: string; readonly selector?: LabelSelector },
): Promise<Measured> {
  const parsed = selectorOf(selector);
  const labels = selector === undefined || !parsed.ok ? "" : formatSelector(parsed.value);
  const path = `/apis/external.metrics.k8s.io/v1beta1/namespaces/${namespace}/${name}`;
  const answer = await reader.raw(`${path}?labelSelector=${encodeURIComponent(labels)}`);
  const source = `unable to get external metric ${namespace}/${name}/${selectorText(selector)}`;
  if (!answer.ok) {
    const why = explain(answer.status.message, `${name}.external.metrics.k8s.io`);
    return fail(`${source}: unable to fetch metrics from external metrics API: ${why}`);
  }
  const { items = [] } = answer.value as MetricValueList;
  if (items.length === 0) {
    return fail(`${source}: no metrics returned from external metrics API`);
  }
  return { ok: true, totalMilli: items.reduce((sum, { value }) => sum + milliOf(value), 0) };
}

type CustomList =
  | { readonly ok: true; readonly items: NonNullable<MetricValueList["items"]> }
  | { readonly ok: false; readonly error: string };

async function custom(
  reader: Reader,
  path: string,
  query: Readonly<Record<string, string>>,
): Promise<CustomList> {
  const source = "unable to fetch metrics from custom metrics API";
  const group = await reader.raw(`/apis/${CUSTOM}`);
  if (!group.ok) {
    return { ok: false, error: `${source}: no custom metrics API (${CUSTOM}) registered` };
  }
  const { preferredVersion } = group.value as {
    readonly preferredVersion: { readonly groupVersion: string };
  };
  const search = new URLSearchParams(query).toString();
  const answer = await reader.raw(`/apis/${preferredVersion.groupVersion}/${path}?${search}`);
  if (!answer.ok) return { ok: false, error: `${source}: ${answer.status.message ?? ""}` };
  return { ok: true, items: (answer.value as MetricValueList).items ?? [] };
}

function metricSelector(selector: LabelSelector | undefined): Readonly<Record<string, string>> {
  const parsed = selectorOf(selector);
  if (selector === undefined || !parsed.ok) return {};
  return { metricLabelSelector: formatSelector(parsed.value) };
}

export function milliOf(quantity: string): number {
  return quantityMilliValue(quantityOf(quantity));
}

function explain(message: string | undefined, resource: string): string {
  const text = message ?? "";
  return text === "the server could not find the requested resource"
    ? `${text} (get ${resource})`
    : text;
}

function durationMs(text: string): number {
  const parsed = parseDuration(text);
  return parsed.ok ? Number(parsed.nanos / 1_000_000n) : 0;
}

function fail(error: string): Measured {
  return { ok: false, error };
}
