/** Whether the volumes that were chosen for a pod are bound by now, or never will be. */
import type { Node, PersistentVolume, PersistentVolumeClaim } from "#api/generated/core.v1.ts";
import type { CSINode } from "#api/generated/storage.v1.ts";
import type { KubeObject } from "#api/kind.ts";
import type { Handle } from "#scheduler/plugin.ts";
import type { PodInfo } from "#scheduler/snapshot/pod-info.ts";
import type { Assumption } from "./assumed-bindings.ts";
import { isReachable } from "./migrated-volumes.ts";
import { isFullyBound, SELECTED_NODE } from "./pod-claims.ts";

export type BindingState =
  | { readonly is: "bound" | "pending" }
  /** The pod must be given another node. */
  | { readonly is: "failed"; readonly why: string };

const BOUND: BindingState = { is: "bound" };
const PENDING: BindingState = { is: "pending" };

/** `written` has the volumes and claims as the API server stored them. */
export function checkBindings(
  pod: PodInfo,
  { volumes: written, node: nodeName }: Assumption,
  handle: Pick<Handle, "objects" | "snapshot">,
): BindingState {
  const { objects, snapshot } = handle;
  const node = snapshot.node(nodeName)?.node;
  if (node === undefined) {
    return failed(`failed to get node "${nodeName}": node "${nodeName}" not found`);
  }
  if (objects.pods.get(pod.namespace, pod.name) === undefined) {
    return failed(`pod does not exist any more: pod "${pod.name}" not found`);
  }
  const place: Place = { node, csiNode: objects.csiNodes.get(undefined, nodeName) };
  for (const binding of written.bindings) {
    const state = checkVolume(binding, place, handle);
    if (state.is !== "bound") return state;
  }
  for (const claim of written.provisions) {
    const state = checkProvision(claim, place, handle);
    if (state.is !== "bound") return state;
  }
  return BOUND;
}

interface Place {
  readonly node: Node;
  readonly csiNode: CSINode | undefined;
}

function checkVolume(
  { claim, volume }: Assumption["volumes"]["bindings"][number],
  place: Place,
  { objects }: Pick<Handle, "objects">,
): BindingState {
  const { name = "" } = volume.metadata;
  const current = objects.volumes.get(undefined, name);
  if (current === undefined) {
    return failed(`failed to check binding: could not find v1.PersistentVolume "${name}"`);
  }
  const currentClaim = cachedClaim(claim, objects);
  if (currentClaim === undefined) {
    return failed(`failed to check binding: ${claimNotFound(claim)}`);
  }
  if (isOlder(current, volume)) return PENDING;
  const unreachable = whyUnreachable(current, place, "failed to translate pv to csi: ");
  if (unreachable !== undefined) return failed(unreachable);
  if ((current.spec.claimRef?.uid ?? "") === "") {
    return failed(`ClaimRef got reset for pv "${name}"`);
  }
  return isFullyBound(currentClaim) ? BOUND : PENDING;
}

/** The provisioner gives the node back if it cannot make the volume there. */
function checkProvision(
  claim: PersistentVolumeClaim,
  place: Place,
  { objects }: Pick<Handle, "objects">,
): BindingState {
  const { name = "" } = claim.metadata;
  const current = cachedClaim(claim, objects);
  if (current === undefined) {
    return failed(`failed to check provisioning pvc: ${claimNotFound(claim)}`);
  }
  if (isOlder(current, claim)) return PENDING;
  const { annotations } = current.metadata;
  if (annotations === undefined) return failed(`selectedNode annotation reset for PVC "${name}"`);
  if (annotations[SELECTED_NODE] !== place.node.metadata.name) {
    return failed(`provisioning failed for PVC "${name}"`);
  }
  const { volumeName = "" } = current.spec;
  if (volumeName !== "") {
    const volume = objects.volumes.get(undefined, volumeName);
    if (volume === undefined) return PENDING;
    const unreachable = whyUnreachable(volume, place, "");
    if (unreachable !== undefined) return failed(unreachable);
  }
  return isFullyBound(current) ? BOUND : PENDING;
}

function whyUnreachable(
  volume: PersistentVolume,
  { node, csiNode }: Place,
  prefix: string,
): string | undefined {
  try {
    if (isReachable(volume, node, csiNode)) return undefined;
  } catch (error) {
    return `${prefix}${(error as Error).message}`;
  }
  const [volumeName, nodeName] = [volume.metadata.name, node.metadata.name];
  return `pv "${volumeName}" node affinity doesn't match node "${nodeName}": no matching NodeSelectorTerms`;
}

function cachedClaim({ metadata }: PersistentVolumeClaim, { claims }: Handle["objects"]) {
  return claims.get(metadata.namespace, metadata.name ?? "");
}

function claimNotFound({ metadata }: PersistentVolumeClaim): string {
  return `could not find v1.PersistentVolumeClaim "${metadata.namespace}/${metadata.name}"`;
}

function isOlder({ metadata: cached }: KubeObject, { metadata: written }: KubeObject): boolean {
  return Number(cached.resourceVersion) < Number(written.resourceVersion);
}

function failed(why: string): BindingState {
  return { is: "failed", why };
}
