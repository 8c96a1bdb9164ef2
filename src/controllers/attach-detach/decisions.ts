/** Which volumes to attach and to detach, and what a node's volumesAttached lists. */

import type { Node, PersistentVolume, Pod } from "#api/generated/core.v1.ts";
import type { VolumeAttachment } from "#api/generated/storage.v1.ts";
import { nodeKind } from "#api/kinds/core/v1/node/node.ts";
import { volumeAttachmentKind } from "#api/kinds/storage/v1/volume-attachment.ts";
import { because, type EventNote, type Outcome } from "#runtime/controller.ts";
import { create, patch, remove } from "#runtime/writes.ts";
import {
  type Attachment,
  attachmentName,
  forcedAtMs,
  isExclusive,
  isListed,
  mayDetach,
  type Remembered,
  uniqueName,
  unusedOf,
} from "./attachment.ts";

export interface VolumeState {
  readonly volume: PersistentVolume | undefined;
  /** Pods on nodes that use the volume. */
  readonly users: readonly Pod[];
  readonly attachments: readonly Attachment[];
  /** Nodes whose pods already got the event that they wait. */
  readonly notifiedNodes: ReadonlySet<string>;
}

export interface NodeState {
  readonly node: Node;
  readonly attachments: readonly Attachment[];
}

export function decideVolume(state: VolumeState, nowMs: number): Outcome<Remembered> {
  const { attachments } = state;
  const { notifiedNodes, ...begun } = attach(state);
  const kept = attachments.map((attachment) => keepOrDetach(attachment, nowMs));
  const outcomes = [...kept, begun];
  const { writes: attachWrites = [] } = begun;
  const writes = outcomes.flatMap((outcome) => outcome.writes ?? []);
  const rule =
    attachWrites.length > 0
      ? "a pod on the node needs the volume"
      : writes.length > 0
        ? "no pod on the node needs the volume, and it is not mounted there"
        : "a volume that is in use elsewhere, or cannot be attached, is reported to its pods";
  return because(rule, {
    ...waiting(attachments, nowMs, notifiedNodes),
    writes,
    events: outcomes.flatMap(({ events = [] }) => events),
  });
}

/** The list names what is attached and not about to go. */
export function decideNode({ node, attachments }: NodeState, nowMs: number): Outcome<Remembered> {
  const attached = attachments.filter(
    (attachment) =>
      attachment.volume !== undefined &&
      attachment.object.status.attached &&
      attachment.object.metadata.deletionTimestamp === undefined &&
      !mayDetach(attachment, nowMs),
  );
  const names = attached.map(({ volume }) => uniqueName(volume!)).sort();
  const listed = (node.status.volumesAttached ?? []).map(({ name }) => name).sort();
  if (String(names) === String(listed)) return waiting(attachments, nowMs);
  const volumesAttached = names.map((name) => ({ name, devicePath: "" }));
  const events = attached
    .filter((attachment) => !isListed(attachment))
    .flatMap(({ volume, users }) =>
      users.map((pod) => note(pod, "AttachVolume.Attach succeeded", volume!, "")),
    );
  const status = { volumesAttached: names.length === 0 ? null : volumesAttached };
  const writes = [patch(nodeKind, node, "merge", { status }, "status")];
  const rule = "volumesAttached of the node lists what is attached and stays";
  return { ...waiting(attachments, nowMs), writes, events, because: rule };
}

/** Remembers which volumes wait for an unmount, and rechecks when the wait is over. */
function waiting(
  attachments: readonly Attachment[],
  nowMs: number,
  notifiedNodes: ReadonlySet<string> = new Set(),
): Outcome<Remembered> {
  const next = attachments
    .filter(({ users }) => users.length === 0)
    .map((attachment) => forcedAtMs(attachment, nowMs))
    .filter((atMs) => atMs > nowMs);
  const unused = unusedOf(attachments, nowMs);
  const remember = unused.size + notifiedNodes.size === 0 ? undefined : { unused, notifiedNodes };
  return next.length === 0 ? { remember } : { remember, recheckInMs: Math.min(...next) - nowMs };
}

function keepOrDetach(attachment: Attachment, nowMs: number): Outcome {
  const { object, users, volume } = attachment;
  if (object.metadata.deletionTimestamp !== undefined) return {};
  if (mayDetach(attachment, nowMs)) {
    return isListed(attachment) ? {} : { writes: [remove(volumeAttachmentKind, object)] };
  }
  const { attachError, attached } = object.status;
  if (attached || attachError === undefined || volume === undefined) return {};
  const why = `: ${attachError.message ?? ""}`;
  return { events: users.map((pod) => note(pod, "AttachVolume.Attach failed", volume, why)) };
}

interface Begun extends Outcome {
  /** Nodes that wait, and whose pods have the event now. */
  readonly notifiedNodes: ReadonlySet<string>;
}

function attach({ volume, users, attachments, notifiedNodes }: VolumeState): Begun {
  const csi = volume?.spec.csi;
  if (volume === undefined || csi === undefined) return { notifiedNodes: new Set() };
  const has = new Set(attachments.map(({ object }) => object.spec.nodeName));
  const wanted = [...new Set(users.map(({ spec }) => spec.nodeName ?? ""))].filter(
    (nodeName) => !has.has(nodeName),
  );
  // One that is attached elsewhere, or is just about to be.
  const free = isExclusive(volume) ? wanted.slice(0, has.size > 0 ? 0 : 1) : wanted;
  const held = wanted.slice(free.length);
  return {
    writes: free.map((nodeName) =>
      create(volumeAttachmentKind, attachmentOf(volume, csi, nodeName)),
    ),
    events: held
      .filter((nodeName) => !notifiedNodes.has(nodeName))
      .flatMap((nodeName) => waitingNotes(volume, nodeName, users)),
    notifiedNodes: new Set(held),
  };
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

/** Pods in other namespaces are only counted, because their names must not be disclosed. */
function waitingNotes(
  volume: PersistentVolume,
  nodeName: string,
  users: readonly Pod[],
): readonly EventNote[] {
  const others = users.filter(({ spec }) => spec.nodeName !== nodeName);
  const waiting = users.filter(({ spec }) => spec.nodeName === nodeName);
  return waiting.map((pod) => {
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
