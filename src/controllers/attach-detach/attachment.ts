/**
 * One volume of a CSI driver on one node: whether it is wanted there, and whether it may go.
 *
 * A volume that no pod wants may be detached once the node says that it has unmounted it. A node that
 * cannot say so any more is waited for six minutes, one that is declared out of service not at all.
 */
import type { Node, PersistentVolume, Pod } from "#api/generated/core.v1.ts";
import type { VolumeAttachment } from "#api/generated/storage.v1.ts";
import { sha256Hex } from "#lib/text/sha256.ts";
import { isFinished } from "../shared/pods.ts";

const UNMOUNT_WAIT_MS = 6 * 60_000;
const OUT_OF_SERVICE = "node.kubernetes.io/out-of-service";
const MANAGED = "volumes.kubernetes.io/controller-managed-attach-detach";

export interface Attachment {
  readonly object: VolumeAttachment;
  readonly volume: PersistentVolume | undefined;
  readonly node: Node | undefined;
  /** Pods on the node that use the volume. */
  readonly users: readonly Pod[];
  /** Since when no pod is known to use it; undefined if that was not observed before. */
  readonly unusedSinceMs: number | undefined;
}

/** Since when attachments are unused, by uid. */
export type Unused = ReadonlyMap<string, number>;

/** What is remembered of a volume or a node. */
export interface Remembered {
  readonly unused: Unused;
  /** Nodes whose pods got the event that they wait for the detach from another node. */
  readonly notifiedNodes: ReadonlySet<string>;
}

export const NOTHING: Remembered = { unused: new Map(), notifiedNodes: new Set() };

export function unusedOf(attachments: readonly Attachment[], nowMs: number): Unused {
  const unused = attachments.filter(({ users }) => users.length === 0);
  return new Map(
    unused.map(({ object, unusedSinceMs }) => [object.metadata.uid ?? "", unusedSinceMs ?? nowMs]),
  );
}

/** Kubelets of all makes find the attachment by this name. */
export function attachmentName(driver: string, handle: string, nodeName: string): string {
  return `csi-${sha256Hex(`${handle}${driver}${nodeName}`)}`;
}

/** What others have made under names of their own is theirs to end. */
export function isOwn({ metadata }: VolumeAttachment): boolean {
  return /^csi-[0-9a-f]{64}$/.test(metadata.name ?? "");
}

/** As nodes list it among the volumes in use and attached. */
export function uniqueName({ spec }: PersistentVolume): string {
  return `kubernetes.io/csi/${spec.csi?.driver}^${spec.csi?.volumeHandle}`;
}

export function mayDetach(attachment: Attachment, nowMs: number): boolean {
  if (attachment.users.length > 0) return false;
  if (!isMounted(attachment) || isOutOfService(attachment.node)) return true;
  return !isHealthy(attachment.node) && nowMs >= forcedAtMs(attachment, nowMs);
}

/** When the word of a node that is not well is no longer waited for. */
export function forcedAtMs({ unusedSinceMs }: Attachment, nowMs: number): number {
  return (unusedSinceMs ?? nowMs) + UNMOUNT_WAIT_MS;
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

/** A node that was deleted may still write to the volume, so it counts as mounted. */
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
