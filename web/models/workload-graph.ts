/**
 * The workloads of a namespace as a graph in columns: Ingress → Service → endpoints, owners → pods → node.
 * Places are computed column by column, so that it is fast for any number. Pure.
 */
import type { KubeObject, PodObject } from "./kube-object.ts";
import { type Endpoint, endpointsOfServices } from "./service-endpoints.ts";

export interface GraphNode {
  readonly id: string;
  readonly kind: string;
  readonly name: string;
  /** What its link leads to: the object itself, or the EndpointSlice of an endpoint without a pod. */
  readonly object: Pick<KubeObject, "apiVersion" | "kind" | "metadata">;
  /** How many endpoints of a Service are ready. */
  readonly note?: string;
  readonly column: number;
  readonly row: number;
  readonly isHealthy: boolean;
}

export interface GraphEdge {
  readonly from: string;
  readonly to: string;
  /** False: to an endpoint that is not ready. */
  readonly isReady: boolean;
}

export interface WorkloadGraph {
  readonly nodes: readonly GraphNode[];
  readonly edges: readonly GraphEdge[];
  readonly rows: number;
  readonly isTruncated: boolean;
}

type Unplaced = Omit<GraphNode, "column" | "row">;

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
  Endpoint: 3,
  Node: 4,
};
const NODES_MAX = 500;

export function workloadGraph(objects: readonly KubeObject[]): WorkloadGraph {
  const ofKind = (kind: string): readonly KubeObject[] => objects.filter((o) => o.kind === kind);
  const endpoints = endpointsOfServices(ofKind("EndpointSlice"));
  const pods = new Map(ofKind("Pod").map((pod) => [pod.metadata.name, pod as PodObject]));
  const shown = objects.filter((object) => object.kind !== "EndpointSlice" && !isIdle(object));
  const nodes = new Map<string, Unplaced>();
  for (const object of shown) {
    const node = nodeOf(object, endpoints.get(object.metadata.name));
    nodes.set(node.id, node);
  }
  const edges = new Map<string, GraphEdge>();
  const connect = (from: string, to: string, isReady = true): void =>
    void edges.set(`${from} ${to}`, { from, to, isReady });
  for (const { metadata } of shown)
    for (const { uid } of metadata.ownerReferences ?? []) connect(uid, metadata.uid ?? "");
  const services = new Map(
    ofKind("Service").map(({ metadata }) => [metadata.name, metadata.uid ?? ""]),
  );
  for (const [service, from] of services) {
    for (const endpoint of endpoints.get(service) ?? []) {
      const pod = endpoint.podName === undefined ? undefined : pods.get(endpoint.podName);
      const node = pod === undefined ? endpointNode(endpoint) : undefined;
      if (node !== undefined && nodes.get(node.id)?.isHealthy !== true) nodes.set(node.id, node);
      connect(from, node?.id ?? pod?.metadata.uid ?? "", endpoint.isReady);
    }
  }
  for (const ingress of ofKind("Ingress"))
    for (const name of serviceNames(ingress.spec))
      connect(ingress.metadata.uid ?? "", services.get(name) ?? "");
  for (const { spec, metadata } of pods.values())
    if (spec?.nodeName !== undefined) connect(metadata.uid ?? "", nodeId(spec.nodeName));
  return placed([...nodes.values()], [...pods.values()], [...edges.values()]);
}

function placed(
  unplaced: readonly Unplaced[],
  pods: readonly PodObject[],
  edges: readonly GraphEdge[],
): WorkloadGraph {
  const heights = new Map<number, number>();
  const place = (node: Unplaced): GraphNode => {
    const column = COLUMNS[node.kind] ?? 0;
    const row = heights.get(column) ?? 0;
    heights.set(column, row + 1);
    return { ...node, column, row };
  };
  const ordered = unplaced.toSorted((a, b) => orderOf(a).localeCompare(orderOf(b)));
  const nodes = ordered.slice(0, NODES_MAX).map(place);
  const ids = new Set(nodes.map(({ id }) => id));
  const shownPods = pods.filter(({ metadata }) => ids.has(metadata.uid ?? ""));
  const nodeNames = new Set(shownPods.flatMap(({ spec }) => spec?.nodeName ?? []));
  for (const name of [...nodeNames].toSorted()) {
    const object = { apiVersion: "v1", kind: "Node", metadata: { name } };
    nodes.push(place({ id: nodeId(name), kind: "Node", name, object, isHealthy: true }));
  }
  for (const { id } of nodes) ids.add(id);
  return {
    nodes,
    edges: edges.filter(({ from, to }) => ids.has(from) && ids.has(to)),
    rows: Math.max(0, ...heights.values()),
    isTruncated: unplaced.length > NODES_MAX,
  };
}

/** `endpoints`: of a Service that has EndpointSlices. */
function nodeOf(object: KubeObject, endpoints: readonly Endpoint[] | undefined): Unplaced {
  const { kind = "", metadata } = object;
  const node = { id: metadata.uid ?? "", kind, name: metadata.name, object };
  if (kind !== "Service" || endpoints === undefined)
    return { ...node, isHealthy: healthOf(object) };
  const ready = endpoints.filter(({ isReady }) => isReady).length;
  return { ...node, note: `${ready} of ${endpoints.length} ready`, isHealthy: ready > 0 };
}

/** Several Services may have the same. */
function endpointNode({ address, podName, isReady, slice }: Endpoint): Unplaced {
  const name = podName ?? address;
  return { id: `endpoint/${name}`, kind: "Endpoint", name, object: slice, isHealthy: isReady };
}

function nodeId(name: string): string {
  return `node/${name}`;
}

/** What belongs together has names that begin alike. */
function orderOf({ kind, name }: Unplaced): string {
  return `${kind === "Service" || kind === "Endpoint" ? "1" : "0"}${name}`;
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
