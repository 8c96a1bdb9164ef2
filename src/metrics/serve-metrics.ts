/**
 * Routes of the metrics server: discovery and resources of the groups that it serves. Everything is a GET;
 * who may ask was decided before.
 */
import type { Status } from "#api/generated/meta.v1.ts";
import {
  noSuchPathStatus,
  notFoundStatus,
  type Result,
  serviceUnavailableStatus,
} from "#api/meta/status.ts";
import { nodeHistory, podHistory } from "./history/history-api.ts";
import type { UsageHistory } from "./history/usage-history.ts";
import {
  getNodeMetrics,
  getPodMetrics,
  listNodeMetrics,
  listPodMetrics,
  METRICS_GROUP,
  METRICS_VERSION,
  type MetricsList,
  type MetricsObject,
  metricsTable,
  type ResourceMetricsSource,
} from "./resource/resource-metrics-api.ts";

export interface MetricsRequest {
  readonly path: string;
  readonly query: URLSearchParams;
  readonly accept: string;
}

export interface MetricsAnswer {
  readonly code: number;
  readonly body: object;
}

/** A group's version that this server serves. */
export interface ServedGroup {
  readonly group: string;
  readonly version: string;
  readonly resources: readonly object[];
  /** `segments`: the path below the version. Undefined: no such path. */
  answer(
    segments: readonly string[],
    request: MetricsRequest,
  ): Promise<MetricsAnswer | undefined> | MetricsAnswer | undefined;
}

export async function serveMetrics(
  groups: readonly ServedGroup[],
  request: MetricsRequest,
): Promise<MetricsAnswer> {
  const [root, group, version, ...rest] = request.path.split("/").filter((part) => part !== "");
  if (root !== "apis") return ofStatus(noSuchPathStatus());
  if (group === undefined) return ok(groupList(groups));
  const versions = groups.filter((one) => one.group === group);
  if (versions.length === 0) return ofStatus(noSuchPathStatus());
  if (version === undefined) return ok({ ...TYPE_OF_GROUP, ...groupOf(versions) });
  const served = versions.find((one) => one.version === version);
  if (served === undefined) return ofStatus(noSuchPathStatus());
  if (rest.length === 0) return ok(resourceList(served));
  return (await served.answer(rest, request)) ?? ofStatus(noSuchPathStatus());
}

/** `isReady`: whether nodes and pods are known. */
export function resourceMetricsGroup(
  source: ResourceMetricsSource,
  history: UsageHistory,
  isReady: () => boolean,
): ServedGroup {
  const resource = (name: string, kind: string, namespaced: boolean) => ({
    ...{ name, singularName: "", namespaced, kind, verbs: ["get", "list"] },
  });
  return {
    group: METRICS_GROUP,
    version: METRICS_VERSION,
    resources: [resource("nodes", "NodeMetrics", false), resource("pods", "PodMetrics", true)],
    answer(segments, request) {
      if (!isReady()) return ofStatus(serviceUnavailableStatus("metrics are not collected yet"));
      return answerHistory(source, history, segments) ?? answerResource(source, segments, request);
    },
  };
}

/** `nodes/NAME/history` and `namespaces/NAMESPACE/pods/NAME/history`. */
function answerHistory(
  { nodes, pods }: ResourceMetricsSource,
  history: UsageHistory,
  segments: readonly string[],
): MetricsAnswer | undefined {
  if (segments.at(-1) !== "history") return undefined;
  const [root = "", first = "", second, third = ""] = segments;
  if (root === "nodes" && segments.length === 3) {
    const status = notFoundStatus({ group: METRICS_GROUP, resource: "nodemetrics" }, first);
    return nodes.get(undefined, first) ? ok(nodeHistory(history, first)) : ofStatus(status);
  }
  if (root !== "namespaces" || second !== "pods" || segments.length !== 5) return undefined;
  const name = `${first}/${third}`;
  const status = notFoundStatus({ group: METRICS_GROUP, resource: "podmetrics" }, name);
  return pods.get(first, third) ? ok(podHistory(history, first, third)) : ofStatus(status);
}

function answerResource(
  source: ResourceMetricsSource,
  segments: readonly string[],
  request: MetricsRequest,
): MetricsAnswer | undefined {
  const { query } = request;
  const selectors = {
    labelSelector: query.get("labelSelector") ?? "",
    fieldSelector: query.get("fieldSelector") ?? "",
  };
  const [first, second, third, fourth, ...more] = segments;
  if (more.length > 0) return undefined;
  if (first === "nodes" && third === undefined) {
    return second === undefined
      ? listed(listNodeMetrics(source, selectors), request)
      : single(getNodeMetrics(source, second), request);
  }
  if (first === "pods" && second === undefined) {
    return listed(listPodMetrics(source, "", selectors), request);
  }
  if (first !== "namespaces" || second === undefined || third !== "pods") return undefined;
  return fourth === undefined
    ? listed(listPodMetrics(source, second, selectors), request)
    : single(getPodMetrics(source, second, fourth), request);
}

function listed(result: Result<MetricsList>, { accept }: MetricsRequest): MetricsAnswer {
  if (!result.ok) return ofStatus(result.status);
  return ok(wantsTable(accept) ? metricsTable(result.value.items) : result.value);
}

function single(result: Result<MetricsObject>, { accept }: MetricsRequest): MetricsAnswer {
  if (!result.ok) return ofStatus(result.status);
  return ok(wantsTable(accept) ? metricsTable([result.value]) : result.value);
}

function wantsTable(accept: string): boolean {
  const [first = ""] = accept.split(",", 1);
  return /;\s*as=Table/.test(first) && /;\s*v=v1(;|$)/.test(first);
}

export function ok(body: object): MetricsAnswer {
  return { code: 200, body };
}

export function ofStatus(status: Status): MetricsAnswer {
  return { code: status.code ?? 500, body: { kind: "Status", apiVersion: "v1", ...status } };
}

const TYPE_OF_GROUP = { kind: "APIGroup", apiVersion: "v1" };

function groupList(groups: readonly ServedGroup[]): object {
  const names = [...new Set(groups.map(({ group }) => group))];
  const all = names.map((name) => groupOf(groups.filter(({ group }) => group === name)));
  return { kind: "APIGroupList", apiVersion: "v1", groups: all };
}

/** The first version is the preferred one. */
function groupOf(versions: readonly ServedGroup[]): object {
  const shown = versions.map(({ group, version }) => ({
    groupVersion: `${group}/${version}`,
    version,
  }));
  return { name: versions[0]?.group, versions: shown, preferredVersion: shown[0] };
}

function resourceList({ group, version, resources }: ServedGroup): object {
  const groupVersion = `${group}/${version}`;
  return { kind: "APIResourceList", apiVersion: "v1", groupVersion, resources };
}
