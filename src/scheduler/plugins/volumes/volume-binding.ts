/**
 * Volumes of a pod decide where it can run: bound ones by their node affinity, unbound ones that
 * wait for the first consumer by the volumes that are free, or can be provisioned, for the node.
 * The chosen volumes are bound before the pod is.
 */
import type {
  Node,
  PersistentVolume,
  PersistentVolumeClaim,
  TopologySelectorTerm,
} from "#api/generated/core.v1.ts";
import { compareQuantities, quantityOf } from "#api/meta/quantity.ts";
import {
  definePlugin,
  FITS,
  type Handle,
  type PluginFactory,
  type Rejected,
  SKIP,
  unresolvable,
} from "#scheduler/plugin.ts";
import type { NodeInfo } from "#scheduler/snapshot/node-info.ts";
import { AssumedBindings, type NodeVolumes } from "./assumed-bindings.ts";
import { matchVolume, requestedBytes } from "./match-volume.ts";
import { isReachable } from "./migrated-volumes.ts";
import { claimRefsOf, claimsOf, classNameOf, isFullyBound, SELECTED_NODE } from "./pod-claims.ts";
import { hasRoom } from "./storage-capacity.ts";
import { VOLUME_BINDING_WAKES } from "./volume-binding-wakes.ts";

const BIND_CONFLICT = "node(s) didn't find available persistent volumes to bind";
const NODE_CONFLICT = "node(s) didn't match PersistentVolume's node affinity";
const NO_SPACE = "node(s) did not have enough free storage";
const NO_VOLUME = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)";
const UNBOUND_IMMEDIATE = unresolvable("pod has unbound immediate PersistentVolumeClaims");

const NO_PROVISIONER = "kubernetes.io/no-provisioner";
const BIND_TIMEOUT_SECONDS = 600;

export interface VolumeBindingArgs {
  readonly bindTimeoutSeconds?: number;
}

interface State {
  readonly bound: readonly PersistentVolumeClaim[];
  /** Smallest first, so that small claims do not take large volumes. */
  readonly delayed: readonly PersistentVolumeClaim[];
  readonly byNode: Map<string, NodeVolumes>;
}

export const volumeBinding: PluginFactory = {
  name: "VolumeBinding",
  create: (args, handle) => {
    const { bindTimeoutSeconds = BIND_TIMEOUT_SECONDS } = (args ?? {}) as VolumeBindingArgs;
    const assumed = new AssumedBindings(handle, bindTimeoutSeconds * 1000);
    return definePlugin<State, undefined>({
      name: "VolumeBinding",
      preFilter: ({ pod }) => {
        if (claimRefsOf(pod).length === 0) return SKIP;
        const found = claimsOf(pod, handle.objects);
        if (!found.ok) return unresolvable(found.reason);
        return stateOf(found.claims, handle, assumed);
      },
      filter: (state, _pod, node) => {
        const found = findVolumes(state, node, handle, assumed);
        if ("fits" in found) return found;
        state.byNode.set(node.name, found);
        return FITS;
      },
      reserve: (state, pod, node) => {
        const volumes = state?.byNode.get(node.name);
        if (volumes !== undefined) assumed.assume(pod, volumes, node.name);
        return FITS;
      },
      unreserve: (_state, pod) => assumed.forget(pod),
      hasPreBind: (_state, pod) => assumed.has(pod),
      preBind: async (_state, pod, _node, signal) => {
        await assumed.bind(pod, signal).catch((error: unknown) => {
          handle.volumeMetrics.volumeStageFailed("bind");
          throw error;
        });
        return FITS;
      },
      wakeOn: VOLUME_BINDING_WAKES,
    });
  },
};

function stateOf(
  claims: readonly PersistentVolumeClaim[],
  { objects }: Handle,
  assumed: AssumedBindings,
) {
  const bound: PersistentVolumeClaim[] = [];
  const delayed: PersistentVolumeClaim[] = [];
  for (const cached of claims) {
    const claim = assumed.claim(cached);
    if (isFullyBound(claim)) bound.push(claim);
    else if ((claim.spec.volumeName ?? "") !== "") return UNBOUND_IMMEDIATE;
    else {
      const found = objects.storageClasses.get(undefined, classNameOf(claim));
      if (found?.volumeBindingMode !== "WaitForFirstConsumer") return UNBOUND_IMMEDIATE;
      delayed.push(claim);
    }
  }
  delayed.sort((a, b) =>
    compareQuantities(quantityOf(requestedBytes(a)), quantityOf(requestedBytes(b))),
  );
  return {
    skip: false as const,
    state: { bound, delayed, byNode: new Map<string, NodeVolumes>() },
  };
}

/** What would be bound and provisioned on the node, or why the pod cannot have its volumes there. */
function findVolumes(
  { bound, delayed }: State,
  { node }: NodeInfo,
  handle: Handle,
  assumed: AssumedBindings,
): NodeVolumes | Rejected {
  const problem = checkBound(bound, node!, handle);
  const reasons = problem === undefined ? [] : [problem];
  const found = chooseVolumes(delayed, node!, handle, assumed);
  if (typeof found === "string") reasons.push(found);
  else if (reasons.length === 0) return found;
  return unresolvable(...reasons);
}

/** What is wrong with the first bound claim that cannot be used on the node. */
function checkBound(
  bound: readonly PersistentVolumeClaim[],
  node: Node,
  { objects, volumeMetrics }: Handle,
): string | undefined {
  if (bound.length === 0) return undefined;
  const csiNode = objects.csiNodes.get(undefined, node.metadata.name ?? "");
  for (const { spec } of bound) {
    const volume = objects.volumes.get(undefined, spec.volumeName ?? "");
    if (volume === undefined) return NO_VOLUME;
    try {
      if (!isReachable(volume, node, csiNode)) return NODE_CONFLICT;
    } catch (error) {
      volumeMetrics.volumeStageFailed("predicate");
      throw error;
    }
  }
  return undefined;
}

function chooseVolumes(
  delayed: readonly PersistentVolumeClaim[],
  node: Node,
  { objects }: Handle,
  assumed: AssumedBindings,
): NodeVolumes | string {
  const bindings: { claim: PersistentVolumeClaim; volume: PersistentVolume }[] = [];
  const provisions: PersistentVolumeClaim[] = [];
  const taken = new Set<string>(assumed.takenVolumes());
  for (const claim of delayed) {
    const selected = claim.metadata.annotations?.[SELECTED_NODE];
    // A claim that is being provisioned for another node stays there.
    if (selected !== undefined && selected !== node.metadata.name) return BIND_CONFLICT;
    const volume =
      selected === undefined ? matchVolume(claim, objects.volumes.list(), node, taken) : undefined;
    if (volume !== undefined) {
      taken.add(volume.metadata.name ?? "");
      bindings.push({ claim, volume });
      continue;
    }
    const found = objects.storageClasses.get(undefined, classNameOf(claim));
    if (found === undefined || found.provisioner === "" || found.provisioner === NO_PROVISIONER) {
      return BIND_CONFLICT;
    }
    if (!isAllowed(found.allowedTopologies ?? [], node)) return BIND_CONFLICT;
    if (!hasRoom(claim, found, node, objects)) return NO_SPACE;
    provisions.push(claim);
  }
  return { bindings, provisions };
}

function isAllowed(terms: readonly TopologySelectorTerm[], { metadata }: Node): boolean {
  if (terms.length === 0) return true;
  return terms.some(({ matchLabelExpressions = [] }) =>
    matchLabelExpressions.every(({ key, values }) => {
      const value = metadata.labels?.[key];
      return value !== undefined && (values ?? []).includes(value);
    }),
  );
}
