/**
 * Creates VolumeAttachments for volumes that the pods of a node use, deletes them afterwards, and lists
 * the attached volumes in the node's status (volumesAttached).
 *
 * Keys are volumes and nodes. A node stops listing a volume before the volume is detached, so that
 * its kubelet never mounts what is about to go.
 */

import type { Node, PersistentVolume, PersistentVolumeClaim, Pod } from "#api/generated/core.v1.ts";
import type { VolumeAttachment } from "#api/generated/storage.v1.ts";
import { nodeKind } from "#api/kinds/core/v1/node/node.ts";
import { persistentVolumeKind } from "#api/kinds/core/v1/persistent-volume/persistent-volume.ts";
import { persistentVolumeClaimKind } from "#api/kinds/core/v1/persistent-volume-claim/persistent-volume-claim.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { csiDriverKind } from "#api/kinds/storage/v1/csi-driver.ts";
import { volumeAttachmentKind } from "#api/kinds/storage/v1/volume-attachment.ts";
import {
  type Caches,
  defineController,
  type IndexSpec,
  type Key,
  ownKey,
  readOnly,
} from "#runtime/controller.ts";
import { claimId, claimNamesOf, podsByClaim } from "../volume/pod-claims.ts";
import {
  type Attachment,
  isManaged,
  isOwn,
  keepsVolumes,
  NOTHING,
  type Remembered,
  type Unused,
} from "./attachment.ts";
import { decideNode, decideVolume, type NodeState, type VolumeState } from "./decisions.ts";

type State =
  | { readonly of: "volume"; readonly state: VolumeState }
  | { readonly of: "node"; readonly state: NodeState }
  | undefined;

const attachmentsByVolume: IndexSpec<VolumeAttachment> = {
  kind: volumeAttachmentKind,
  name: "volume",
  values: ({ spec }) => [spec.source.persistentVolumeName ?? ""],
};

const attachmentsByNode: IndexSpec<VolumeAttachment> = {
  kind: volumeAttachmentKind,
  name: "node",
  values: ({ spec }) => [spec.nodeName],
};

export const attachDetach = defineController<State, Remembered>({
  name: "persistentvolume-attach-detach-controller",
  rule: "a volume is attached while a pod on the node needs it, and detached when it is not mounted any more",
  component: "attachdetach-controller",
  feeds: [
    { kind: volumeAttachmentKind, keys: keysOfAttachment },
    { kind: persistentVolumeKind, keys: (volume: PersistentVolume) => volumeKeys(volume) },
    { kind: persistentVolumeClaimKind, keys: keysOfClaim },
    { kind: podKind, keys: keysOfPod },
    { kind: nodeKind, keys: keysOfNode },
    readOnly(csiDriverKind),
  ],
  indexes: [attachmentsByVolume, attachmentsByNode, podsByClaim],
  observe(caches, key, _reader, known = NOTHING) {
    return key.resource === "node"
      ? observeNode(caches, key, known)
      : observeVolume(caches, key, known);
  },
  decide(observed, nowMs) {
    if (observed === undefined) return { remember: undefined };
    return observed.of === "node"
      ? decideNode(observed.state, nowMs)
      : decideVolume(observed.state, nowMs);
  },
});

function volumeKey(name: string): Key {
  return { resource: "volume", name };
}

function volumeKeys({ metadata, spec }: PersistentVolume): readonly Key[] {
  return spec.csi === undefined ? [] : [volumeKey(metadata.name ?? "")];
}

function keysOfAttachment({ spec }: VolumeAttachment): readonly Key[] {
  const { persistentVolumeName } = spec.source;
  const node: Key = { resource: "node", name: spec.nodeName };
  return persistentVolumeName === undefined ? [] : [volumeKey(persistentVolumeName), node];
}

function keysOfClaim({ spec }: PersistentVolumeClaim): readonly Key[] {
  return spec.volumeName ? [volumeKey(spec.volumeName)] : [];
}

function keysOfPod(pod: Pod, caches: Caches): readonly Key[] {
  const claims = caches(persistentVolumeClaimKind);
  const keys = claimNamesOf(pod).flatMap((name) => {
    const claim = claims.get(pod.metadata.namespace, name);
    return claim === undefined ? [] : keysOfClaim(claim);
  });
  if (keys.length === 0 || !pod.spec.nodeName) return keys;
  return [...keys, { resource: "node", name: pod.spec.nodeName }];
}

function keysOfNode(node: Node, caches: Caches): readonly Key[] {
  const [{ name } = { name: "" }] = ownKey(node);
  const attachments = caches(volumeAttachmentKind).byIndex(attachmentsByNode.name, name);
  return [{ resource: "node", name }, ...[...attachments].flatMap(keysOfAttachment)];
}

function observeNode(caches: Caches, { name }: Key, { unused }: Remembered): State {
  const node = caches(nodeKind).get(undefined, name);
  if (node === undefined) return undefined;
  const objects = caches(volumeAttachmentKind).byIndex(attachmentsByNode.name, name);
  return { of: "node", state: { node, attachments: views(objects, caches, unused) } };
}

function observeVolume(
  caches: Caches,
  { name }: Key,
  { unused, notifiedNodes }: Remembered,
): State {
  const volume = caches(persistentVolumeKind).get(undefined, name);
  const objects = caches(volumeAttachmentKind).byIndex(attachmentsByVolume.name, name);
  const attachments = views(objects, caches, unused);
  const driver = volume?.spec.csi?.driver ?? "";
  const isAttachable = caches(csiDriverKind).get(undefined, driver)?.spec.attachRequired !== false;
  const users = volume === undefined || !isAttachable ? [] : usersOf(volume, caches);
  return { of: "volume", state: { volume, users, attachments, notifiedNodes } };
}

function views(
  objects: Iterable<VolumeAttachment>,
  caches: Caches,
  unused: Unused,
): readonly Attachment[] {
  return [...objects].filter(isOwn).map((object) => {
    const { source, nodeName } = object.spec;
    const volume = caches(persistentVolumeKind).get(undefined, source.persistentVolumeName ?? "");
    const users = volume === undefined ? [] : usersOf(volume, caches);
    return {
      object,
      volume,
      node: caches(nodeKind).get(undefined, nodeName),
      users: users.filter(({ spec }) => spec.nodeName === nodeName),
      unusedSinceMs: unused.get(object.metadata.uid ?? ""),
    };
  });
}

/** Pods on nodes that are looked after here. */
function usersOf(volume: PersistentVolume, caches: Caches): readonly Pod[] {
  const { claimRef } = volume.spec;
  if (claimRef?.name === undefined) return [];
  const claim = caches(persistentVolumeClaimKind).get(claimRef.namespace, claimRef.name);
  const isBound =
    claim?.metadata.uid === claimRef.uid && claim?.spec.volumeName === volume.metadata.name;
  if (!isBound) return [];
  const id = claimId(claimRef.namespace, claimRef.name);
  return [...caches(podKind).byIndex(podsByClaim.name, id)].filter((pod) => {
    const node = caches(nodeKind).get(undefined, pod.spec.nodeName ?? "");
    return node !== undefined && isManaged(node) && keepsVolumes(pod);
  });
}
