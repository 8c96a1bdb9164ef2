/**
 * One volume of a CSI driver on one node: whether it is wanted there, and whether it may go.
 *
 * A volume that no pod wants may be detached once the node says that it has unmounted it. A node that
 * cannot say so any more is waited for six minutes, one that is declared out of service not at all.
 * The wait is noted on the attachment itself, so that it survives a restart of the controller.
 */
import type { Node, PersistentVolume, Pod } from "#api/generated/core.v1.ts";
import type { VolumeAttachment } from "#api/generated/storage.v1.ts";
import { timeToMs } from "#api/meta/time.ts";
import { sha256Hex } from "#lib/sha256.ts";
import { isFinished } from "../pods.ts";

export const DETACH_REQUESTED = "k8ts.io/detach-requested-at";

const UNMOUNT_WAIT_MS = 6 * 60_000;
const OUT_OF_SERVICE = "node.kubernetes.io/out-of-service";
const MANAGED = "volumes.kubernetes.io/controller-managed-attach-detach";

export interface Attachment {
  readonly object: VolumeAttachment;
  readonly volume: PersistentVolume | undefined;
  readonly node: Node | undefined;
  /** Pods on the node that use the volume. */
  readonly users: readonly Pod[];
}

/** Kubelets of all makes find the attachment by this name. */
export function attachmentName(driver: string, handle: string, nodeName: string): string {
  return `csi-${sha256Hex(`${handle}${driver}${nodeName}`)}`;
}

/** As nodes list it among the volumes in use and attached. */
export function uniqueName({ spec }: PersistentVolume): string {
  return `kubernetes.io/csi/${spec.csi?.driver}^${spec.csi?.volumeHandle}`;
}

export function mayDetach(attachment: Attachment, nowMs: number): boolean {
  if (attachment.users.length > 0) return false;
  if (!isMounted(attachment) || isOutOfService(attachment.node)) return true;
  const atMs = forcedAtMs(attachment);
  return atMs !== undefined && atMs <= nowMs;
}

/** When the node's word is no longer waited for; undefined as long as it is in good health. */
export function forcedAtMs({ object, node }: Attachment): number | undefined {
  const since = object.metadata.annotations?.[DETACH_REQUESTED];
  if (since === undefined || isHealthy(node)) return undefined;
  return timeToMs(since) + UNMOUNT_WAIT_MS;
}

export function isListed({ volume, node }: Attachment): boolean {
  const listed = node?.status.volumesAttached ?? [];
  return volume !== undefined && listed.some(({ name }) => name === uniqueName(volume));
}

/** Nodes whose kubelets attach for themselves are left alone. */
export function isManaged({ metadata }: Node): boolean {
  return metadata.annotations?.[MANAGED] === "true";
}

/** A pod keeps its volumes until its containers have ended. */
export function keepsVolumes(pod: Pod): boolean {
  if (isFinished(pod)) return false;
  if (pod.metadata.deletionTimestamp === undefined) return true;
  const { containerStatuses = [], initContainerStatuses = [] } = pod.status;
  return [...containerStatuses, ...initContainerStatuses].some(
    ({ state }) => state?.terminated === undefined && state?.waiting === undefined,
  );
}

/** One that only one node may have at a time. */
export function isExclusive({ spec: { accessModes = [] } }: PersistentVolume): boolean {
  if (accessModes.length === 0) return false;
  return !accessModes.some((mode) => mode === "ReadWriteMany" || mode === "ReadOnlyMany");
}

/** Of a node that is gone nobody knows what it still writes to. */
function isMounted({ node, volume }: Attachment): boolean {
  if (node === undefined) return true;
  return volume !== undefined && (node.status.volumesInUse ?? []).includes(uniqueName(volume));
}

function isHealthy(node: Node | undefined): boolean {
  const ready = node?.status.conditions?.find(({ type }) => type === "Ready");
  return ready?.status === "True";
}

function isOutOfService(node: Node | undefined): boolean {
  return (node?.spec.taints ?? []).some(({ key }) => key === OUT_OF_SERVICE);
}
