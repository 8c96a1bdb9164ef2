/** What to attach, what to detach, and what a node is told. */
import { nodeKind } from "#api/core/v1/node.ts";
import type { Node, PersistentVolume, Pod } from "#api/generated/core.v1.ts";
import type { VolumeAttachment } from "#api/generated/storage.v1.ts";
import { timeFromMs } from "#api/meta/time.ts";
import { volumeAttachmentKind } from "#api/storage/v1/volume-attachment.ts";
import type { EventNote, Outcome } from "#runtime/controller.ts";
import { create, patch, remove, type Write } from "#runtime/writes.ts";
import {
  type Attachment,
  attachmentName,
  DETACH_REQUESTED,
  forcedAtMs,
  isExclusive,
  isListed,
  mayDetach,
  uniqueName,
} from "./attachment.ts";

export interface VolumeState {
  readonly volume: PersistentVolume | undefined;
  /** Pods on nodes that use the volume. */
  readonly users: readonly Pod[];
  readonly attachments: readonly Attachment[];
}

export interface NodeState {
  readonly node: Node;
  readonly attachments: readonly Attachment[];
}

export function decideVolume(state: VolumeState, nowMs: number): Outcome {
  const outcomes = [
    ...state.attachments.map((attachment) => keepOrDetach(attachment, nowMs)),
    ...attach(state),
  ];
  const rechecks = outcomes.flatMap(({ recheckInMs }) => recheckInMs ?? []);
  return {
    writes: outcomes.flatMap(({ writes = [] }) => writes),
    events: outcomes.flatMap(({ events = [] }) => events),
    ...(rechecks.length === 0 ? {} : { recheckInMs: Math.min(...rechecks) }),
  };
}

/** The list names what is attached and not about to go. */
export function decideNode({ node, attachments }: NodeState, nowMs: number): Outcome {
  const attached = attachments.filter(
    (attachment) =>
      attachment.volume !== undefined &&
      attachment.object.status.attached &&
      attachment.object.metadata.deletionTimestamp === undefined &&
      !mayDetach(attachment, nowMs),
  );
  const names = attached.map(({ volume }) => uniqueName(volume!)).sort();
  const listed = (node.status.volumesAttached ?? []).map(({ name }) => name).sort();
  if (String(names) === String(listed)) return forced(attachments, nowMs);
  const volumesAttached = names.map((name) => ({ name, devicePath: "" }));
  const events = attached
    .filter((attachment) => !isListed(attachment))
    .flatMap(({ volume, users }) =>
      users.map((pod) => note(pod, "AttachVolume.Attach succeeded", volume!, "")),
    );
  const status = { volumesAttached: names.length === 0 ? null : volumesAttached };
  const writes = [patch(nodeKind, node, "merge", { status }, "status")];
  return { ...forced(attachments, nowMs), writes, events };
}

/** When the next volume goes without the node's consent. */
function forced(attachments: readonly Attachment[], nowMs: number): Outcome {
  const dueMs = attachments.flatMap((attachment) => forcedAtMs(attachment) ?? []);
  const next = dueMs.filter((atMs) => atMs > nowMs);
  return next.length === 0 ? {} : { recheckInMs: Math.min(...next) - nowMs };
}

function keepOrDetach(attachment: Attachment, nowMs: number): Outcome {
  const { object, users, volume } = attachment;
  if (object.metadata.deletionTimestamp !== undefined) return {};
  const requested = object.metadata.annotations?.[DETACH_REQUESTED];
  if (users.length > 0) {
    const { attachError, attached } = object.status;
    const failed = !attached && attachError !== undefined && volume !== undefined;
    const why = `: ${attachError?.message ?? ""}`;
    return {
      writes: requested === undefined ? [] : [requestDetach(object, null)],
      events: failed
        ? users.map((pod) => note(pod, "AttachVolume.Attach failed", volume, why))
        : [],
    };
  }
  if (mayDetach(attachment, nowMs)) {
    return isListed(attachment) ? {} : { writes: [remove(volumeAttachmentKind, object)] };
  }
  if (requested !== undefined) return forced([attachment], nowMs);
  return { writes: [requestDetach(object, timeFromMs(nowMs))] };
}

function requestDetach(object: VolumeAttachment, at: string | null): Write {
  const metadata = { annotations: { [DETACH_REQUESTED]: at } };
  return patch(volumeAttachmentKind, object, "merge", { metadata });
}

function attach({ volume, users, attachments }: VolumeState): readonly Outcome[] {
  const csi = volume?.spec.csi;
  if (volume === undefined || csi === undefined) return [];
  const has = new Set(attachments.map(({ object }) => object.spec.nodeName));
  const wanted = [...new Set(users.map(({ spec }) => spec.nodeName ?? ""))].filter(
    (nodeName) => !has.has(nodeName),
  );
  return wanted.map((nodeName, i) => {
    // One that is attached elsewhere, or is just about to be.
    if (isExclusive(volume) && (has.size > 0 || i > 0)) return wait(volume, nodeName, users);
    return { writes: [create(volumeAttachmentKind, attachmentOf(volume, csi, nodeName))] };
  });
}

function attachmentOf(
  volume: PersistentVolume,
  { driver, volumeHandle }: NonNullable<PersistentVolume["spec"]["csi"]>,
  nodeName: string,
): VolumeAttachment {
  return {
    apiVersion: volumeAttachmentKind.apiVersion,
    kind: volumeAttachmentKind.names.kind,
    metadata: { name: attachmentName(driver, volumeHandle, nodeName) },
    spec: {
      attacher: driver,
      nodeName,
      source: { persistentVolumeName: volume.metadata.name ?? "" },
    },
    status: { attached: false },
  };
}

/** Names of pods in other namespaces are not for everybody's eyes: they are only counted. */
function wait(volume: PersistentVolume, nodeName: string, users: readonly Pod[]): Outcome {
  const others = users.filter(({ spec }) => spec.nodeName !== nodeName);
  const waiting = users.filter(({ spec }) => spec.nodeName === nodeName);
  const events = waiting.map((pod) => {
    const local = others.filter(({ metadata }) => metadata.namespace === pod.metadata.namespace);
    const names = local.map(({ metadata }) => metadata.name).join(", ");
    const foreign = others.length - local.length;
    const elsewhere = `${foreign} pod(s) in different namespaces`;
    const users = local.length === 0 ? elsewhere : `pod(s) ${names}`;
    const more = local.length > 0 && foreign > 0 ? ` and ${elsewhere}` : "";
    const why =
      others.length === 0
        ? "Volume is already exclusively attached to one node, waiting on detach before it can be attached to another node"
        : `Volume is already used by ${users}${more}`;
    return note(pod, "Waiting for detach", volume, why);
  });
  return { events };
}

function note(about: Pod, what: string, volume: PersistentVolume, why: string): EventNote {
  const succeeded = what.endsWith("succeeded");
  return {
    about,
    type: succeeded ? "Normal" : "Warning",
    reason: succeeded ? "SuccessfulAttachVolume" : "FailedAttachVolume",
    message: `${what} for volume "${volume.metadata.name}" ${why}`,
  };
}
