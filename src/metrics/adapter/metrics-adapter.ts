/**
 * `custom.metrics.k8s.io` and `external.metrics.k8s.io` from the metrics pages of pods, so that autoscaling
 * by requests per second works without Prometheus. Pages are read on request; nothing polls.
 *
 * - custom, `pods/NAME/METRIC` and `pods/*` + `/METRIC` with a label selector: the pod's own page.
 * - custom, `services/NAME/METRIC`: the sum over the pods that the Service selects.
 * - external, `METRIC` with a label selector: every series of the pods of annotated Services in the namespace.
 */
import type { Node, Pod, Service } from "#api/generated/core.v1.ts";
import { serviceKind } from "#api/kinds/core/v1/service/service.ts";
import {
  EVERYTHING,
  matchesLabels,
  parseSelector,
  type Selector,
  selectorFromLabels,
} from "#api/meta/label-selector.ts";
import { formatQuantity, quantityFrom } from "#api/meta/quantity.ts";
import { badRequestStatus, type Result, unknownStatus } from "#api/meta/status.ts";
import { timeFromMs } from "#api/meta/time.ts";
import type { ReadCache } from "#client/cache.ts";
import type { Client } from "#client/client.ts";
import type { Clock } from "#lib/time/clock.ts";
import { type MetricsAnswer, ofStatus, ok, type ServedGroup } from "../serve-metrics.ts";
import type { ScrapeTarget } from "./scrape-target.ts";
import { scrapeTarget } from "./scrape-target.ts";
import { type SeriesValue, SeriesValues } from "./series-values.ts";

export interface AdapterOptions {
  readonly client: Client;
  readonly clock: Clock;
  readonly nodes: ReadCache<Node>;
  readonly pods: ReadCache<Pod>;
  fetch(target: ScrapeTarget): Promise<string>;
}

const CUSTOM = "custom.metrics.k8s.io";
const EXTERNAL = "external.metrics.k8s.io";
const PODS_MAX = 500;
const CONCURRENCY = 16;
const SIMULATED_LABEL = "sim.k8ts.io/simulated";

interface PodValue {
  readonly pod: Pod;
  readonly series: readonly SeriesValue[];
}

export function adapterGroups(options: AdapterOptions): readonly ServedGroup[] {
  const values = new SeriesValues(options.clock);
  const custom = (version: "v1beta1" | "v1beta2"): ServedGroup => ({
    ...{ group: CUSTOM, version, resources: [] },
    answer: (segments, { query }) => answerCustom({ ...options, values, version }, segments, query),
  });
  const external: ServedGroup = {
    ...{ group: EXTERNAL, version: "v1beta1", resources: [] },
    answer: (segments, { query }) => answerExternal({ ...options, values }, segments, query),
  };
  return [custom("v1beta2"), custom("v1beta1"), external];
}

type Adapter = AdapterOptions & { readonly values: SeriesValues };

async function answerCustom(
  adapter: Adapter & { readonly version: "v1beta1" | "v1beta2" },
  segments: readonly string[],
  query: URLSearchParams,
): Promise<MetricsAnswer | undefined> {
  const [root, namespace, resource, name, metric, ...more] = segments;
  if (root !== "namespaces" || namespace === undefined || name === undefined) return undefined;
  if (metric === undefined || more.length > 0) return undefined;
  const metricSelector = parseSelector(query.get("metricLabelSelector") ?? "");
  const podSelector = parseSelector(query.get("labelSelector") ?? "");
  if (!metricSelector.ok) return ofStatus(badRequestStatus(metricSelector.error));
  if (!podSelector.ok) return ofStatus(badRequestStatus(podSelector.error));
  if (resource === "pods") {
    const chosen = choosePods(adapter, namespace, (pod) =>
      name === "*"
        ? matchesLabels(podSelector.value, pod.metadata.labels)
        : pod.metadata.name === name,
    );
    const read = await readPods(adapter, chosen, metric, metricSelector.value);
    const items = read.map(({ pod, series }) =>
      metricValue(adapter, metric, "Pod", namespace, pod.metadata.name ?? "", series),
    );
    if (items.length === 0 && name !== "*") return missing("pods", name, metric);
    return ok(valueList(`${CUSTOM}/${adapter.version}`, "MetricValueList", items));
  }
  if (resource !== "services") return missing(resource ?? "", name, metric);
  const service = await adapter.client.get(serviceKind, { namespace, name });
  if (!service.ok) return ofStatus(service.status);
  const read = await readPods(
    adapter,
    podsOf(adapter, service.value),
    metric,
    metricSelector.value,
  );
  const series = read.flatMap((one) => one.series);
  if (series.length === 0) return missing("services", name, metric);
  const item = metricValue(adapter, metric, "Service", namespace, name, series);
  return ok(valueList(`${CUSTOM}/${adapter.version}`, "MetricValueList", [item]));
}

async function answerExternal(
  adapter: Adapter,
  segments: readonly string[],
  query: URLSearchParams,
): Promise<MetricsAnswer | undefined> {
  const [root, namespace, metric, ...more] = segments;
  if (root !== "namespaces" || namespace === undefined || metric === undefined) return undefined;
  if (more.length > 0) return undefined;
  const selector = parseSelector(query.get("labelSelector") ?? "");
  if (!selector.ok) return ofStatus(badRequestStatus(selector.error));
  const services = await annotatedServices(adapter, namespace);
  if (!services.ok) return ofStatus(services.status);
  const pods = new Set(services.value.flatMap((service) => podsOf(adapter, service)));
  const read = await readPods(adapter, [...pods].slice(0, PODS_MAX), metric, selector.value);
  const timestamp = timeFromMs(adapter.clock.nowMs());
  const items = read.flatMap(({ series }) =>
    series.map(({ labels, value, windowSeconds }) => ({
      ...{ metricName: metric, metricLabels: { ...labels }, timestamp },
      ...(windowSeconds === undefined ? {} : { window: windowSeconds }),
      value: milliText(value),
    })),
  );
  return ok(valueList(`${EXTERNAL}/v1beta1`, "ExternalMetricValueList", items));
}

async function annotatedServices(
  { client }: Adapter,
  namespace: string,
): Promise<Result<readonly Service[]>> {
  const found = await client.list(serviceKind, { namespace });
  if (!found.ok) return found;
  const annotated = (found.value.items ?? []).filter(
    ({ metadata }) => metadata.annotations?.["prometheus.io/scrape"] === "true",
  );
  return { ok: true, value: annotated };
}

function podsOf(adapter: Adapter, { metadata, spec }: Service): readonly Pod[] {
  const labels = spec.selector ?? {};
  if (Object.keys(labels).length === 0) return [];
  const selector = selectorFromLabels(labels);
  return choosePods(adapter, metadata.namespace ?? "", (pod) =>
    matchesLabels(selector, pod.metadata.labels),
  );
}

/** Pods of simulated nodes have addresses that lead nowhere. */
function choosePods(
  { pods, nodes }: Adapter,
  namespace: string,
  isChosen: (pod: Pod) => boolean,
): readonly Pod[] {
  const chosen: Pod[] = [];
  for (const pod of pods.list(namespace)) {
    if (chosen.length >= PODS_MAX) break;
    const node = nodes.get(undefined, pod.spec.nodeName ?? "");
    if (node === undefined || node.metadata.labels?.[SIMULATED_LABEL] !== undefined) continue;
    if (isChosen(pod)) chosen.push(pod);
  }
  return chosen;
}

/** Pods whose page cannot be read, or does not have the metric, are left out. */
async function readPods(
  { fetch, values }: Adapter,
  pods: readonly Pod[],
  metric: string,
  selector: Selector = EVERYTHING,
): Promise<readonly PodValue[]> {
  const todo = [...pods];
  const read: PodValue[] = [];
  const work = async (): Promise<void> => {
    for (let pod = todo.pop(); pod !== undefined; pod = todo.pop()) {
      const target = scrapeTarget(pod);
      const text = target && (await fetch(target).catch(() => undefined));
      if (text === undefined) continue;
      const series = values.read(pod.metadata.uid ?? "", text, metric, selector);
      if (series.length > 0) read.push({ pod, series });
    }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, work));
  return read.sort((a, b) => ((a.pod.metadata.name ?? "") < (b.pod.metadata.name ?? "") ? -1 : 1));
}

function metricValue(
  { clock, version }: { readonly clock: Clock; readonly version: "v1beta1" | "v1beta2" },
  metric: string,
  kind: string,
  namespace: string,
  name: string,
  series: readonly SeriesValue[],
): object {
  const [first] = series;
  return {
    describedObject: { kind, namespace, name, apiVersion: "/v1" },
    ...(version === "v1beta2"
      ? { metric: { name: metric, selector: null } }
      : { metricName: metric }),
    timestamp: timeFromMs(clock.nowMs()),
    ...(first?.windowSeconds === undefined ? {} : { windowSeconds: first.windowSeconds }),
    value: milliText(series.reduce((sum, one) => sum + one.value, 0)),
    ...(version === "v1beta1" ? { selector: null } : {}),
  };
}

function valueList(apiVersion: string, kind: string, items: readonly object[]): object {
  return { kind, apiVersion, metadata: {}, items };
}

function milliText(value: number): string {
  return formatQuantity(quantityFrom(Math.round(value * 1000), "DecimalSI", -3));
}

function missing(resource: string, name: string, metric: string): MetricsAnswer {
  const message = `the server could not find the metric ${metric} for ${resource} ${name}`;
  return ofStatus({ ...unknownStatus(message, 404), reason: "NotFound" });
}
