/** What must hold for the spec of a PersistentVolume, also where it stands inside another object. */

import { isEmptyCollection } from "#api/codec/empty-collections.ts";
import type { PersistentVolumeSpec } from "#api/generated/core.v1.ts";
import { quantityOf, quantitySign, quantityValue } from "#api/meta/quantity.ts";
import {
  type FieldError,
  forbidden,
  invalid,
  notSupported,
  required,
} from "#api/validation/field-error.ts";
import type { Path } from "#api/validation/path.ts";
import { validateNodeSelector } from "../pod/placement/affinity.ts";
import { validateAccessModes, validateClassName, validateVolumeMode } from "./access-modes.ts";
import { validateSources } from "./sources.ts";

const RECLAIM_POLICIES = ["Delete", "Recycle", "Retain"];

export interface VolumeSpecOptions {
  readonly volumeName: string;
  /** Tolerates values that an earlier version let pass: for updates of such objects only. */
  readonly allowInvalidLabelValue: boolean;
}

export function validateVolumeSpec(
  spec: PersistentVolumeSpec,
  { volumeName, allowInvalidLabelValue }: VolumeSpecOptions,
  path: Path,
): FieldError[] {
  const { storageClassName = "", persistentVolumeReclaimPolicy: policy = "" } = spec;
  const errors: FieldError[] = [...validateModes(spec, path), ...validateCapacity(spec, path)];
  if (policy !== "" && !RECLAIM_POLICIES.includes(policy)) {
    const at = path.child("persistentVolumeReclaimPolicy");
    errors.push(notSupported(at, policy, RECLAIM_POLICIES));
  }
  if (spec.nodeAffinity !== undefined) {
    const at = path.child("nodeAffinity", "required");
    const { required: selector } = spec.nodeAffinity;
    if (selector === undefined) errors.push(required(at, "must specify required node constraints"));
    else validateNodeSelector(selector, allowInvalidLabelValue, at, errors);
  }
  errors.push(...validateSources(spec, volumeName, path));
  errors.push(...validateRecycling(spec, path));
  if (storageClassName !== "") {
    errors.push(...validateClassName(storageClassName, path.child("storageClassName")));
  }
  errors.push(...validateVolumeMode(spec.volumeMode, path.child("volumeMode")));
  return [...errors, ...validateAttributesClass(spec, path)];
}

/** A spec that an attachment carries for a volume that has no object of its own. */
export function validateInlineVolumeSpec(spec: PersistentVolumeSpec, path: Path): FieldError[] {
  const inline = "in the context of inline volumes";
  const notInline = (field: keyof PersistentVolumeSpec) =>
    forbidden(path.child(field), `may not be specified ${inline}`);
  const errors: FieldError[] = [];
  if (spec.claimRef !== undefined) errors.push(notInline("claimRef"));
  if (Object.keys(spec.capacity ?? {}).length > 0) errors.push(notInline("capacity"));
  if (spec.csi === undefined) {
    errors.push(required(path.child("csi"), `has to be specified ${inline}`));
  }
  errors.push(...validateModes(spec, path));
  if (spec.persistentVolumeReclaimPolicy && spec.persistentVolumeReclaimPolicy !== "Retain") {
    const at = path.child("persistentVolumeReclaimPolicy");
    errors.push(forbidden(at, `may only be Retain ${inline}`));
  }
  if (spec.nodeAffinity !== undefined) errors.push(notInline("nodeAffinity"));
  errors.push(...validateSources(spec, "", path), ...validateRecycling(spec, path));
  if (spec.storageClassName) errors.push(notInline("storageClassName"));
  if (spec.volumeMode !== undefined && spec.volumeMode !== "Filesystem") {
    const detail = `may not specify volumeMode other than Filesystem ${inline}`;
    errors.push(forbidden(path.child("volumeMode"), detail));
  }
  return errors;
}

function validateModes({ accessModes = [] }: PersistentVolumeSpec, path: Path): FieldError[] {
  const at = path.child("accessModes");
  return accessModes.length === 0 ? [required(at, "")] : validateAccessModes(accessModes, at);
}

function validateCapacity(spec: PersistentVolumeSpec, path: Path): FieldError[] {
  const { capacity = {} } = spec;
  const at = path.child("capacity");
  const names = Object.keys(capacity);
  const errors: FieldError[] = [];
  if (names.length === 0) errors.push(required(at, ""));
  if (names.length !== 1 || names[0] !== "storage") {
    const given = names.length > 0 || isEmptyCollection(spec, "capacity");
    errors.push(notSupported(at, given ? capacity : null, ["storage"]));
  }
  for (const [name, text] of Object.entries(capacity)) {
    const amount = quantityOf(text);
    const value = quantityValue(amount);
    if (value < 0) errors.push(invalid(at.key(name), value, "must be a valid resource quantity"));
    if (quantitySign(amount) <= 0) {
      errors.push(invalid(at.key(name), text, "must be greater than zero"));
    }
  }
  return errors;
}

/** Recycling empties the volume: not the whole node, please. */
function validateRecycling(
  { hostPath, persistentVolumeReclaimPolicy }: PersistentVolumeSpec,
  path: Path,
): FieldError[] {
  if (persistentVolumeReclaimPolicy !== "Recycle" || hostPath === undefined) return [];
  if (!isRoot(hostPath.path)) return [];
  const detail = "may not be 'recycle' for a hostPath mount of '/'";
  return [forbidden(path.child("persistentVolumeReclaimPolicy"), detail)];
}

function isRoot(text: string): boolean {
  if (!text.startsWith("/")) return false;
  let depth = 0;
  for (const step of text.split("/")) {
    if (step === "..") depth = Math.max(depth - 1, 0);
    else if (step !== "" && step !== ".") depth++;
  }
  return depth === 0;
}

function validateAttributesClass(
  { volumeAttributesClassName: name, csi }: PersistentVolumeSpec,
  path: Path,
): FieldError[] {
  if (name === undefined) return [];
  const at = path.child("volumeAttributesClassName");
  const errors =
    name === "" ? [required(at, "an empty string is disallowed")] : validateClassName(name, at);
  if (csi !== undefined) return errors;
  const detail = "has to be specified when using volumeAttributesClassName";
  return [...errors, required(path.child("csi"), detail)];
}
