/** Volumes whose files are made from objects: keys of ConfigMaps and Secrets, fields of the pod. */
import type { DownwardAPIVolumeFile, KeyToPath } from "#api/generated/core.v1.ts";
import { type FieldError, invalid, required } from "#api/validation/field-error.ts";
import type { Path } from "#api/validation/path.ts";
import { validateFieldRef, validateResourceFieldRef } from "../containers/field-refs.ts";
import { validateLocalPath } from "./local-path.ts";

const MODE_MAX = 0o777;
const MODE_FAULT = "must be a number between 0 and 0777 (octal), both inclusive";
const FILE_FIELDS = [
  "metadata.annotations",
  "metadata.labels",
  "metadata.name",
  "metadata.namespace",
  "metadata.uid",
];

interface ObjectFiles {
  readonly defaultMode?: number;
  readonly items?: readonly KeyToPath[];
}

export function validateObjectFiles(
  { defaultMode, items = [] }: ObjectFiles,
  path: Path,
  errors: FieldError[],
): void {
  validateMode(defaultMode, path.child("defaultMode"), errors);
  for (const [i, item] of items.entries()) {
    validateKeyToPath(item, path.child("items").index(i), errors);
  }
}

export function validateKeyToPath(
  { key, path: file, mode }: KeyToPath,
  path: Path,
  errors: FieldError[],
): void {
  if (key === "") errors.push(required(path.child("key"), ""));
  if (file === "") errors.push(required(path.child("path"), ""));
  validateLocalPath(file, path.child("path"), errors);
  validateMode(mode, path.child("mode"), errors);
}

/** All files are reported at the path of their volume. */
export function validateDownwardApi(
  files: readonly DownwardAPIVolumeFile[],
  path: Path,
  errors: FieldError[],
): void {
  for (const file of files) validateDownwardApiFile(file, path, errors);
}

export function validateDownwardApiFile(
  { path: file, fieldRef, resourceFieldRef, mode }: DownwardAPIVolumeFile,
  path: Path,
  errors: FieldError[],
): void {
  if (file === "") errors.push(required(path.child("path"), ""));
  validateLocalPath(file, path.child("path"), errors);
  if (fieldRef !== undefined) {
    validateFieldRef(fieldRef, FILE_FIELDS, path.child("fieldRef"), errors);
    if (resourceFieldRef !== undefined) {
      const detail = "fieldRef and resourceFieldRef can not be specified simultaneously";
      errors.push(invalid(path, "resource", detail));
    }
  } else if (resourceFieldRef !== undefined) {
    validateResourceFieldRef(resourceFieldRef, true, path.child("resourceFieldRef"), errors);
  } else errors.push(required(path, "one of fieldRef and resourceFieldRef is required"));
  validateMode(mode, path.child("mode"), errors);
}

/** Permission bits of files. */
export function validateMode(mode: number | undefined, path: Path, errors: FieldError[]): void {
  if (mode === undefined || (mode >= 0 && mode <= MODE_MAX)) return;
  errors.push(invalid(path, mode, MODE_FAULT));
}
