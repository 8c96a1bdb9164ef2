/**
 * How claims and volumes belong together: which volume suits a claim, what is written to bind them.
 *
 * A volume points at its claim (`spec.claimRef`) and the claim at its volume (`spec.volumeName`); the
 * volume goes first, so that two claims can never take the same one. Annotations record who
 * bound them: only a binding of the controller may be undone by the controller.
 */

import type {
  ObjectReference,
  PersistentVolume,
  PersistentVolumeClaim,
  PersistentVolumeClaimStatus,
  PersistentVolumePhase,
} from "#api/generated/core.v1.ts";
import type { KubeObject } from "#api/kind.ts";
import {
  accessModesText,
  STORAGE_CLASS_ANNOTATION,
} from "#api/kinds/core/v1/persistent-volume/access-modes.ts";
import { persistentVolumeKind } from "#api/kinds/core/v1/persistent-volume/persistent-volume.ts";
import { persistentVolumeClaimKind } from "#api/kinds/core/v1/persistent-volume-claim/persistent-volume-claim.ts";
import { matchesLabels, selectorOf } from "#api/meta/label-selector.ts";
import { compareQuantities, type Quantity, quantityOf } from "#api/meta/quantity.ts";
import { semanticEqual } from "#api/validation/immutable.ts";
import { update, updateStatus, type Write } from "#runtime/writes.ts";

export const BIND_COMPLETED = "pv.kubernetes.io/bind-completed";
export const BOUND_BY_CONTROLLER = "pv.kubernetes.io/bound-by-controller";
export const PROVISIONED_BY = "pv.kubernetes.io/provisioned-by";
export const SELECTED_NODE = "volume.kubernetes.io/selected-node";
const PRE_RESIZE_CAPACITY = "volume.alpha.kubernetes.io/pre-resize-capacity";

export function classOf({ metadata, spec }: PersistentVolume | PersistentVolumeClaim): string {
  return metadata.annotations?.[STORAGE_CLASS_ANNOTATION] ?? spec.storageClassName ?? "";
}

export function hasAnnotation({ metadata }: KubeObject, name: string): boolean {
  return metadata.annotations?.[name] !== undefined;
}

export function withAnnotations<T extends KubeObject>(
  object: T,
  added: Readonly<Record<string, string>>,
): T {
  const annotations = { ...object.metadata.annotations, ...added };
  return { ...object, metadata: { ...object.metadata, annotations } };
}

export function withoutAnnotation<T extends KubeObject>(object: T, name: string): T {
  const { [name]: _, ...annotations } = object.metadata.annotations ?? {};
  return { ...object, metadata: { ...object.metadata, annotations } };
}

/** The volume's claimRef is this claim, or its name without a uid. */
export function pointsAt({ spec }: PersistentVolume, { metadata }: PersistentVolumeClaim): boolean {
  const { claimRef } = spec;
  if (claimRef?.name !== metadata.name || claimRef?.namespace !== metadata.namespace) return false;
  return !claimRef?.uid || claimRef.uid === metadata.uid;
}

/** Why a volume that a claim asks for by name cannot be its own; undefined if it can. */
export function misfit(volume: PersistentVolume, claim: PersistentVolumeClaim): string | undefined {
  if (volume.metadata.deletionTimestamp !== undefined) {
    return `the volume is marked for deletion "${volume.metadata.name}"`;
  }
  if (!isLargeEnough(volume, claim)) return "requested PV is too small";
  if (classOf(volume) !== classOf(claim)) return "storageClassName does not match";
  if (!sameAttributes(volume, claim)) return "volumeAttributesClassName does not match";
  if (!sameMode(volume, claim)) return "incompatible volumeMode";
  return allowsModes(volume, claim) ? undefined : "incompatible accessMode";
}

/**
 * The volume to bind: one that already points at the claim, else the smallest that suits, and of
 * those that allow more than was asked the one that allows least.
 */
export function bestVolume(
  claim: PersistentVolumeClaim,
  volumes: Iterable<PersistentVolume>,
  /** Free volumes are left for the scheduler to choose from. */
  delayed: boolean,
): PersistentVolume | undefined {
  const parsed = selectorOf(claim.spec.selector);
  const selector = parsed.ok ? parsed.value : "nothing";
  const anyLabels = claim.spec.selector === undefined;
  const isFree = (volume: PersistentVolume): boolean =>
    volume.spec.claimRef === undefined &&
    volume.status.phase === "Available" &&
    classOf(volume) === classOf(claim) &&
    (anyLabels || matchesLabels(selector, volume.metadata.labels));
  const candidates = [...volumes].filter(
    (volume) =>
      volume.metadata.deletionTimestamp === undefined &&
      allowsModes(volume, claim) &&
      isLargeEnough(volume, claim) &&
      sameMode(volume, claim) &&
      sameAttributes(volume, claim) &&
      (pointsAt(volume, claim) || (!delayed && isFree(volume))),
  );
  return candidates.sort((a, b) => byFit(a, b, claim))[0];
}

/**
 * What is missing for the two to be bound. An object is written once at a time: when both point at
 * each other, the change brings the claim here again and their statuses follow.
 */
export function bindWrites(
  volume: PersistentVolume,
  claim: PersistentVolumeClaim,
): readonly Write[] {
  const volumePoints = pointVolume(volume, claim);
  const claimPoints = pointClaim(claim, volume);
  return [
    ...(volumePoints.length > 0 ? volumePoints : phaseWrites(volume, "Bound")),
    ...(claimPoints.length > 0 ? claimPoints : claimStatusWrites(claim, "Bound", volume)),
  ];
}

export function phaseWrites(
  volume: PersistentVolume,
  phase: PersistentVolumePhase,
  message = "",
): readonly Write[] {
  if (volume.status.phase === phase) return [];
  const { message: _, ...rest } = volume.status;
  const status = { ...rest, phase, ...(message === "" ? {} : { message }) };
  return [updateStatus(persistentVolumeKind, { ...volume, status })];
}

export function claimStatusWrites(
  claim: PersistentVolumeClaim,
  phase: "Pending" | "Bound" | "Lost",
  volume?: PersistentVolume,
): readonly Write[] {
  const { accessModes: _, capacity, currentVolumeAttributesClassName, ...rest } = claim.status;
  const known = {
    ...(capacity === undefined ? {} : { capacity }),
    ...(currentVolumeAttributesClassName === undefined ? {} : { currentVolumeAttributesClassName }),
  };
  const status: PersistentVolumeClaimStatus = {
    ...rest,
    // After binding, the capacity is set by the resizer.
    ...(claim.status.phase === phase && volume !== undefined ? known : {}),
    ...(volume === undefined ? {} : boundStatus(volume, claim.status.phase !== phase)),
    phase,
  };
  if (semanticEqual(status, claim.status)) return [];
  return [updateStatus(persistentVolumeClaimKind, { ...claim, status })];
}

export function referenceTo({ metadata }: PersistentVolumeClaim): ObjectReference {
  const { namespace, name, uid, resourceVersion } = metadata;
  return {
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    ...(namespace === undefined ? {} : { namespace }),
    ...(name === undefined ? {} : { name }),
    ...(uid === undefined ? {} : { uid }),
    ...(resourceVersion === undefined ? {} : { resourceVersion }),
  };
}

export function sameMode(volume: PersistentVolume, claim: PersistentVolumeClaim): boolean {
  return (volume.spec.volumeMode ?? "Filesystem") === (claim.spec.volumeMode ?? "Filesystem");
}

function boundStatus(
  { metadata, spec }: PersistentVolume,
  phaseChanges: boolean,
): PersistentVolumeClaimStatus {
  const { accessModes, capacity, volumeAttributesClassName: attributes } = spec;
  const modes = accessModes === undefined ? {} : { accessModes };
  if (!phaseChanges) return modes;
  const storage = metadata.annotations?.[PRE_RESIZE_CAPACITY] ?? capacity?.storage ?? "0";
  return {
    ...modes,
    capacity: { ...capacity, storage },
    ...(attributes === undefined ? {} : { currentVolumeAttributesClassName: attributes }),
  };
}

function pointVolume(volume: PersistentVolume, claim: PersistentVolumeClaim): readonly Write[] {
  const bound = pointsAt(volume, claim);
  if (bound && volume.spec.claimRef?.uid === claim.metadata.uid) return [];
  const pointed = { ...volume, spec: { ...volume.spec, claimRef: referenceTo(claim) } };
  const next = bound ? pointed : withAnnotations(pointed, { [BOUND_BY_CONTROLLER]: "yes" });
  return [update(persistentVolumeKind, next)];
}

function pointClaim(claim: PersistentVolumeClaim, volume: PersistentVolume): readonly Write[] {
  const volumeName = volume.metadata.name ?? "";
  const points = claim.spec.volumeName === volumeName;
  if (points && hasAnnotation(claim, BIND_COMPLETED)) return [];
  const pointed = { ...claim, spec: { ...claim.spec, volumeName } };
  const marks = { ...(points ? {} : { [BOUND_BY_CONTROLLER]: "yes" }), [BIND_COMPLETED]: "yes" };
  return [update(persistentVolumeClaimKind, withAnnotations(pointed, marks))];
}

function byFit(a: PersistentVolume, b: PersistentVolume, claim: PersistentVolumeClaim): number {
  const pointing = Number(pointsAt(b, claim)) - Number(pointsAt(a, claim));
  const modes = (volume: PersistentVolume): string => accessModesText(volume.spec.accessModes);
  const excess = modes(a).split(",").length - modes(b).split(",").length;
  const size = compareQuantities(sizeOf(a), sizeOf(b));
  return pointing || excess || size || ((a.metadata.name ?? "") < (b.metadata.name ?? "") ? -1 : 1);
}

function isLargeEnough(volume: PersistentVolume, { spec }: PersistentVolumeClaim): boolean {
  return (
    compareQuantities(sizeOf(volume), quantityOf(spec.resources.requests?.storage ?? "0")) >= 0
  );
}

function sizeOf({ spec }: PersistentVolume): Quantity {
  return quantityOf(spec.capacity?.storage ?? "0");
}

function sameAttributes(volume: PersistentVolume, claim: PersistentVolumeClaim): boolean {
  const asked = claim.spec.volumeAttributesClassName ?? "";
  return (volume.spec.volumeAttributesClassName ?? "") === asked;
}

function allowsModes(volume: PersistentVolume, claim: PersistentVolumeClaim): boolean {
  return (claim.spec.accessModes ?? []).every((mode) => volume.spec.accessModes?.includes(mode));
}
