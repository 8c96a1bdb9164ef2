/** What may change about a claim once it is there. */
import { cloneObject } from "#api/codec/empty-collections.ts";
import { keep } from "#api/draft.ts";
import type {
  PersistentVolumeClaim,
  PersistentVolumeClaimSpec,
  PersistentVolumeClaimStatus,
} from "#api/generated/core.v1.ts";
import type { Draft } from "#api/kind.ts";
import { quantityOf, quantityValue } from "#api/meta/quantity.ts";
import {
  type FieldError,
  forbidden,
  invalid,
  notSupported,
  required,
} from "#api/validation/field-error.ts";
import { semanticEqual, validateImmutableField } from "#api/validation/immutable.ts";
import { METADATA } from "#api/validation/kube-meta.ts";
import { isQualifiedName } from "#api/validation/names.ts";
import { Path } from "#api/validation/path.ts";
import { STORAGE_CLASS_ANNOTATION } from "../persistent-volume/access-modes.ts";
import { internalDiff } from "../pod/internal-diff.ts";
import { compareAmounts, validateResourceQuantity } from "../resources/resource-lists.ts";
import { isNativeResource } from "../resources/resource-names.ts";
import { alignDataSources } from "./data-sources.ts";

const SPEC = Path.of("spec");
const RESIZE_STATUSES = [
  "ControllerResizeInProgress",
  "ControllerResizeInfeasible",
  "NodeResizeInProgress",
  "NodeResizeInfeasible",
  "NodeResizePending",
];

export function validateClaimChange(
  next: PersistentVolumeClaim,
  old: PersistentVolumeClaim,
): FieldError[] {
  return [
    ...validateClassAnnotation(next, old),
    ...validateFixedSpec(next, old),
    ...validateSize(next, old),
    ...validateImmutableField(next.spec.volumeMode, old.spec.volumeMode, Path.of("volumeMode")),
    ...validateAttributesClass(next, old),
  ];
}

export function validateClaimStatus({ spec, status }: PersistentVolumeClaim): FieldError[] {
  const errors: FieldError[] = [];
  if ((spec.accessModes ?? []).length === 0) {
    errors.push(required(Path.of("Spec", "accessModes"), ""));
  }
  const capacity = Path.of("status", "capacity");
  for (const [name, amount] of Object.entries(status.capacity ?? {})) {
    errors.push(...validateNotNegative(amount, capacity.key(name)));
  }
  return [...errors, ...validateResize(status)];
}

/** The class may move from the old annotation to the field, as long as it is the same. */
function movesClassFromAnnotation(
  next: PersistentVolumeClaim,
  old: PersistentVolumeClaim,
): boolean {
  const before = old.metadata.annotations?.[STORAGE_CLASS_ANNOTATION];
  const now = next.metadata.annotations?.[STORAGE_CLASS_ANNOTATION];
  return (
    before !== undefined &&
    old.spec.storageClassName === undefined &&
    next.spec.storageClassName === before &&
    (now === undefined || now === before)
  );
}

function validateClassAnnotation(
  next: PersistentVolumeClaim,
  old: PersistentVolumeClaim,
): FieldError[] {
  if (movesClassFromAnnotation(next, old)) return [];
  const now = next.metadata.annotations?.[STORAGE_CLASS_ANNOTATION] ?? "";
  const before = old.metadata.annotations?.[STORAGE_CLASS_ANNOTATION] ?? "";
  if (now === before) return [];
  const path = METADATA.child("annotations", STORAGE_CLASS_ANNOTATION);
  return [invalid(path, now, "field is immutable")];
}

/** Compares the specs, after taking over into one from the other what may change. */
function validateFixedSpec(next: PersistentVolumeClaim, old: PersistentVolumeClaim): FieldError[] {
  const now: Draft<PersistentVolumeClaimSpec> = cloneObject(keep(next.spec));
  const before: Draft<PersistentVolumeClaimSpec> = { ...keep(old.spec) };
  alignDataSources(before);
  if (!before.volumeName) copyField("volumeName", before, now);
  if (movesClassFromAnnotation(next, old)) delete now.storageClassName;
  else if (gainsClass(next, old)) delete now.storageClassName;
  if (next.status.phase === "Bound") {
    if (now.resources?.requests !== undefined) {
      const storage = old.spec.resources?.requests?.storage ?? "0";
      now.resources = { ...now.resources, requests: { ...now.resources.requests, storage } };
    }
    copyField("volumeAttributesClassName", now, before);
  }
  if (semanticEqual(now, before)) return [];
  const diff = internalDiff("core.v1.PersistentVolumeClaimSpec", before, now);
  const detail = `spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims\n${diff}`;
  return [forbidden(SPEC, detail)];
}

function copyField(
  field: "volumeName" | "volumeAttributesClassName",
  to: Draft<PersistentVolumeClaimSpec>,
  from: PersistentVolumeClaimSpec,
): void {
  const value = from[field];
  if (value === undefined) delete to[field];
  else to[field] = value;
}

/** A claim without a class may be given one later. */
function gainsClass(next: PersistentVolumeClaim, old: PersistentVolumeClaim): boolean {
  const annotation = old.metadata.annotations?.[STORAGE_CLASS_ANNOTATION];
  const name = next.spec.storageClassName;
  return (
    name !== undefined &&
    old.spec.storageClassName === undefined &&
    (annotation === undefined || annotation === name)
  );
}

/** After a failed expansion a smaller one may be asked for, but never less than there is. */
function validateSize(next: PersistentVolumeClaim, old: PersistentVolumeClaim): FieldError[] {
  const size = next.spec.resources?.requests?.storage ?? "0";
  if (compareAmounts(size, old.spec.resources?.requests?.storage ?? "0") >= 0) return [];
  if (compareAmounts(size, old.status.capacity?.storage ?? "0") > 0) return [];
  const path = SPEC.child("resources", "requests", "storage");
  return [forbidden(path, "field can not be less than status.capacity")];
}

function validateAttributesClass(
  next: PersistentVolumeClaim,
  old: PersistentVolumeClaim,
): FieldError[] {
  const name = next.spec.volumeAttributesClassName;
  if (name === old.spec.volumeAttributesClassName || name) return [];
  if (old.status.currentVolumeAttributesClassName === undefined) return [];
  const value = name === undefined ? "nil" : "empty string";
  const detail = `update to ${value} is forbidden when status.currentVolumeAttributesClassName is not nil`;
  return [forbidden(SPEC.child("volumeAttributesClassName"), detail)];
}

function validateResize({
  allocatedResourceStatuses = {},
  allocatedResources = {},
}: PersistentVolumeClaimStatus): FieldError[] {
  const errors: FieldError[] = [];
  const statuses = Path.of("status", "allocatedResourceStatuses");
  for (const [name, status] of Object.entries(allocatedResourceStatuses)) {
    errors.push(...validateResourceKey(name, statuses));
    if (!RESIZE_STATUSES.includes(status)) {
      errors.push(notSupported(statuses, name, RESIZE_STATUSES));
    }
  }
  const resources = Path.of("status", "allocatedResources");
  for (const [name, amount] of Object.entries(allocatedResources)) {
    const keyErrors = validateResourceKey(name, resources);
    const negative = validateNotNegative(amount, resources.key(name));
    if (keyErrors.length > 0) errors.push(...keyErrors);
    else if (negative.length > 0) errors.push(...negative);
    else errors.push(...validateResourceQuantity("storage", amount, resources.key(name)));
  }
  return errors;
}

function validateResourceKey(name: string, path: Path): FieldError[] {
  const faults = isQualifiedName(name);
  if (faults.length > 0) return faults.map((fault) => invalid(path, name, fault));
  if (!isNativeResource(name) || name === "storage") return [];
  return [notSupported(path, name, ["storage"])];
}

function validateNotNegative(amount: string, path: Path): FieldError[] {
  const value = quantityValue(quantityOf(amount));
  return value < 0 ? [invalid(path, value, "must be a valid resource quantity")] : [];
}
