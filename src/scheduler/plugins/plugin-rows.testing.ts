/** Asks one plugin about a few nodes, for tests in rows: what it says of each, or how it scores them. */
import type {
  Node,
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  Service,
} from "#api/generated/core.v1.ts";
import type { KubeObject } from "#api/kind.ts";
import { nodeKind } from "#api/kinds/core/v1/node/node.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { Cache } from "#client/cache.ts";
import type { Handle, Plugin, PluginFactory, Verdict } from "#scheduler/plugin.ts";
import type { ClusterObjects } from "#scheduler/snapshot/cluster-objects.ts";
import type { NodeInfo } from "#scheduler/snapshot/node-info.ts";
import { PodInfo } from "#scheduler/snapshot/pod-info.ts";
import { Snapshot } from "#scheduler/snapshot/snapshot.ts";
import { build, type Draft } from "#testing/build.ts";

export interface PluginRow {
  readonly plugin: PluginFactory;
  readonly args?: unknown;
  readonly nodes: readonly Draft<Node>[];
  /** Pods that run; `spec.nodeName` says where. */
  readonly running?: readonly Draft<Pod>[];
  readonly pod: Draft<Pod>;
  readonly services?: readonly Service[];
  readonly claims?: readonly PersistentVolumeClaim[];
  readonly volumes?: readonly PersistentVolume[];
  /** Labels by the name of the namespace. */
  readonly namespaces?: Readonly<Record<string, Readonly<Record<string, string>>>>;
}

export const FITTING = "fits";

/** By the name of the node: `fits`, or the reasons. */
export function verdictsOf(row: PluginRow): Readonly<Record<string, string>> {
  const { plugin, info, snapshot } = ask(row);
  const started = plugin.preFilter?.(info, snapshot) ?? { skip: false, state: undefined };
  const verdictOn = (node: NodeInfo): string => {
    if ("fits" in started) return started.reasons.join(", ");
    if (started.skip) return FITTING;
    if (started.nodeNames?.has(node.name) === false) return "not among the nodes it names";
    return textOf(plugin.filter?.(started.state, info, node) ?? { fits: true });
  };
  return Object.fromEntries(snapshot.nodes.map((node) => [node.name, verdictOn(node)]));
}

/** By the name of the node, 0 to 100; none if the plugin has nothing to say. */
export function scoresOf(row: PluginRow): Readonly<Record<string, number>> {
  const { plugin, info, snapshot } = ask(row);
  const { nodes } = snapshot;
  const state = plugin.preScore?.(info, nodes, snapshot, undefined) ?? { skip: true };
  if (state.skip) return {};
  const scores = nodes.map((node) => plugin.score!(state.state, info, node));
  plugin.normalize?.(state.state, scores, nodes);
  return Object.fromEntries(nodes.map(({ name }, index) => [name, scores[index]!]));
}

export function textOf(verdict: Verdict): string {
  return verdict.fits ? FITTING : verdict.reasons.join(", ");
}

function ask(row: PluginRow): {
  readonly plugin: Plugin;
  readonly info: PodInfo;
  readonly snapshot: Snapshot;
} {
  const snapshot = new Snapshot();
  for (const [name, labels] of Object.entries(row.namespaces ?? {})) {
    snapshot.setNamespace(name, labels);
  }
  for (const node of row.nodes) snapshot.setNode(build(nodeKind, node));
  for (const pod of row.running ?? []) snapshot.setPod(build(podKind, pod));
  const objects: Partial<ClusterObjects> = {
    services: cacheOf(row.services),
    replicaSets: new Cache(),
    statefulSets: new Cache(),
    replicationControllers: new Cache(),
    claims: cacheOf(row.claims),
    volumes: cacheOf(row.volumes),
    storageClasses: new Cache(),
    ...{ resourceClaims: new Cache(), resourceSlices: new Cache(), deviceClasses: new Cache() },
  };
  // The plugins in question use nothing else.
  const handle = { snapshot, objects } as Handle;
  const info = new PodInfo(build(podKind, row.pod));
  return { plugin: row.plugin.create(row.args, handle), info, snapshot };
}

function cacheOf<T extends KubeObject>(objects: readonly T[] = []): Cache<T> {
  const cache = new Cache<T>();
  for (const object of objects) cache.put(object);
  return cache;
}
