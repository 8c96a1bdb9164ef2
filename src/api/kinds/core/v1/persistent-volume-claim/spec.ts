/** What must hold for the spec of a claim, also where it stands inside a template. */
import type {
  PersistentVolumeClaimSpec,
  TypedLocalObjectReference,
  TypedObjectReference,
} from "#api/generated/core.v1.ts";
import { quantityOf, quantitySign } from "#api/meta/quantity.ts";
import { type FieldError, invalid, required } from "#api/validation/field-error.ts";
import { validateLabelSelector } from "#api/validation/labels.ts";
import { isDns1123Label, isDns1123Subdomain } from "#api/validation/names.ts";
import type { Path } from "#api/validation/path.ts";
import {
  validateAccessModes,
  validateClassName,
  validateVolumeMode,
} from "../persistent-volume/access-modes.ts";
import { validateResourceQuantity } from "../resources/resource-lists.ts";

/** What an earlier version let pass: for updates of such objects only. */
export interface ClaimSpecOptions {
  readonly allowInvalidLabelValue?: boolean;
  readonly allowInvalidApiGroup?: boolean;
}

export function validateClaimSpec(
  spec: PersistentVolumeClaimSpec,
  options: ClaimSpecOptions,
  path: Path,
): FieldError[] {
  const { accessModes = [], selector, storageClassName, volumeAttributesClassName } = spec;
  const modes = path.child("accessModes");
  const errors: FieldError[] = [];
  if (accessModes.length === 0) {
    errors.push(required(modes, "at least 1 access mode is required"));
  }
  errors.push(...validateLabelSelector(selector, options, path.child("selector")));
  errors.push(...validateAccessModes(accessModes, modes));
  errors.push(...validateStorage(spec, path.child("resources").key("storage")));
  if (storageClassName) {
    errors.push(...validateClassName(storageClassName, path.child("storageClassName")));
  }
  errors.push(...validateVolumeMode(spec.volumeMode, path.child("volumeMode")));
  errors.push(...validateDataSources(spec, options, path));
  if (volumeAttributesClassName) {
    const at = path.child("volumeAttributesClassName");
    errors.push(...validateClassName(volumeAttributesClassName, at));
  }
  return errors;
}

function validateStorage({ resources }: PersistentVolumeClaimSpec, path: Path): FieldError[] {
  const amount = resources?.requests?.storage;
  if (amount === undefined) return [required(path, "")];
  if (quantitySign(quantityOf(amount)) <= 0) {
    return [invalid(path, amount, "must be greater than zero")];
  }
  return validateResourceQuantity("storage", amount, path);
}

function validateDataSources(
  { dataSource, dataSourceRef }: PersistentVolumeClaimSpec,
  options: ClaimSpecOptions,
  path: Path,
): FieldError[] {
  const errors: FieldError[] = [];
  if (dataSource !== undefined) {
    errors.push(...validateDataSource(dataSource, options, path.child("dataSource")));
  }
  if (dataSourceRef === undefined) return errors;
  const at = path.child("dataSourceRef");
  errors.push(...validateDataSource(dataSourceRef, options, at));
  const { namespace } = dataSourceRef;
  if (namespace) {
    for (const fault of isDns1123Label(namespace)) {
      errors.push(invalid(at.child("namespace"), namespace, fault));
    }
  }
  if (dataSource === undefined) return errors;
  // The bad value is a path, of which nothing shows.
  if (namespace) {
    const detail = "may not be specified when dataSourceRef.namespace is specified";
    errors.push(invalid(path, {}, detail));
  } else if (!isSameSource(dataSource, dataSourceRef)) {
    errors.push(invalid(path, {}, "must match dataSourceRef"));
  }
  return errors;
}

function isSameSource(a: TypedLocalObjectReference, b: TypedObjectReference): boolean {
  return (a.apiGroup ?? null) === (b.apiGroup ?? null) && a.kind === b.kind && a.name === b.name;
}

function validateDataSource(
  { apiGroup, kind, name }: TypedLocalObjectReference | TypedObjectReference,
  { allowInvalidApiGroup }: ClaimSpecOptions,
  path: Path,
): FieldError[] {
  const errors: FieldError[] = [];
  if (name === "") errors.push(required(path.child("name"), ""));
  if (kind === "") errors.push(required(path.child("kind"), ""));
  const group = apiGroup ?? "";
  if (group === "" && kind !== "PersistentVolumeClaim") {
    const detail = "must be 'PersistentVolumeClaim' when referencing the default apiGroup";
    errors.push(invalid(path, kind, detail));
  }
  if (group === "" || allowInvalidApiGroup) return errors;
  for (const fault of isDns1123Subdomain(group)) {
    errors.push(invalid(path.child("apiGroup"), group, fault));
  }
  return errors;
}
