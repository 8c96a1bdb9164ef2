/**
 * The workloads of a namespace as a graph in columns: Ingress → Service, owners → pods → node. Places
 * are computed column by column, so that it is fast for any number. Pure.
 */
import { matchesLabels, selectorFromLabels } from "../../src/api/meta/label-selector.ts";
import type { KubeObject, PodObject } from "./kube-object.ts";

export interface GraphNode {
  readonly id: string;
  readonly kind: string;
  readonly apiVersion: string;
  readonly namespace: string;
  readonly name: string;
  readonly column: number;
  readonly row: number;
  readonly isHealthy: boolean;
}

export interface WorkloadGraph {
  readonly nodes: readonly GraphNode[];
  readonly edges: readonly { readonly from: string; readonly to: string }[];
  readonly rows: number;
  readonly isTruncated: boolean;
}

const COLUMNS: Readonly<Record<string, number>> = {
  Ingress: 0,
  Service: 1,
  Deployment: 1,
  CronJob: 1,
  StatefulSet: 2,
  DaemonSet: 2,
  ReplicaSet: 2,
  Job: 2,
  Pod: 3,
  Node: 4,
};
const NODES_MAX = 500;

export function workloadGraph(objects: readonly KubeObject[]): WorkloadGraph {
  const shown = objects.filter((object) => !isIdle(object));
  const ids = new Map(shown.map((object) => [object.metadata.uid ?? "", object]));
  const edges: { from: string; to: string }[] = [];
  const pods = shown.filter((object): object is PodObject => object.kind === "Pod");
  for (const { metadata } of shown) {
    for (const { uid } of metadata.ownerReferences ?? [])
      if (ids.has(uid)) edges.push({ from: uid, to: metadata.uid ?? "" });
  }
  for (const service of shown.filter(({ kind }) => kind === "Service")) {
    const labels = (service.spec?.selector ?? {}) as Readonly<Record<string, string>>;
    if (Object.keys(labels).length === 0) continue;
    const selector = selectorFromLabels(labels);
    for (const { metadata } of pods)
      if (matchesLabels(selector, metadata.labels))
        edges.push({ from: service.metadata.uid ?? "", to: metadata.uid ?? "" });
  }
  const nodeNames = [...new Set(pods.flatMap(({ spec }) => spec?.nodeName ?? []))].toSorted();
  for (const { spec, metadata } of pods)
    if (spec?.nodeName !== undefined)
      edges.push({ from: metadata.uid ?? "", to: `node/${spec.nodeName}` });
  const services = new Map(
    shown.filter(({ kind }) => kind === "Service").map((s) => [s.metadata.name, s.metadata.uid]),
  );
  for (const ingress of shown.filter(({ kind }) => kind === "Ingress"))
    for (const name of serviceNames(ingress.spec)) {
      const to = services.get(name);
      if (to !== undefined) edges.push({ from: ingress.metadata.uid ?? "", to });
    }
  return placed(shown, nodeNames, edges);
}

function placed(
  objects: readonly KubeObject[],
  nodeNames: readonly string[],
  edges: WorkloadGraph["edges"],
): WorkloadGraph {
  const heights = new Map<number, number>();
  const nextRow = (column: number): number => {
    const row = heights.get(column) ?? 0;
    heights.set(column, row + 1);
    return row;
  };
  const ordered = objects.toSorted((a, b) => orderOf(a).localeCompare(orderOf(b)));
  const nodes: GraphNode[] = ordered.slice(0, NODES_MAX).map((object) => {
    const column = COLUMNS[object.kind ?? ""] ?? 0;
    const { uid: id = "", name, namespace = "" } = object.metadata;
    const { kind = "", apiVersion = "" } = object;
    const isHealthy = healthOf(object);
    return { id, kind, apiVersion, namespace, name, column, row: nextRow(column), isHealthy };
  });
  for (const name of nodeNames) {
    const fixed = { kind: "Node", apiVersion: "v1", namespace: "", column: 4, isHealthy: true };
    nodes.push({ id: `node/${name}`, name, row: nextRow(4), ...fixed });
  }
  const ids = new Set(nodes.map(({ id }) => id));
  return {
    nodes,
    edges: edges.filter(({ from, to }) => ids.has(from) && ids.has(to)),
    rows: Math.max(0, ...heights.values()),
    isTruncated: objects.length > NODES_MAX,
  };
}

/** What belongs together has names that begin alike. */
function orderOf({ kind = "", metadata }: KubeObject): string {
  return `${kind === "Service" ? "1" : "0"}${metadata.name}`;
}

/** ReplicaSets of former revisions. */
function isIdle({ kind, spec }: KubeObject): boolean {
  return kind === "ReplicaSet" && spec?.replicas === 0;
}

function healthOf({ kind, status, spec }: KubeObject): boolean {
  if (kind === "Pod") {
    if (status?.phase === "Succeeded") return true;
    return status?.conditions?.some((c) => c.type === "Ready" && c.status === "True") ?? false;
  }
  const wanted = spec?.replicas;
  return typeof wanted !== "number" || wanted === (status?.readyReplicas ?? 0);
}

function serviceNames(value: unknown): readonly string[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, child]) => {
    const name = key === "service" ? (child as { name?: unknown } | null)?.name : undefined;
    return typeof name === "string" ? [name] : serviceNames(child);
  });
}
