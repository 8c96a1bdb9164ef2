/** Rules of metadata, the same for every kind; a kind adds only its name rule. */
import type { ManagedFieldsEntry, ObjectMeta, OwnerReference } from "#api/generated/meta.v1.ts";
import type { NameRule } from "#api/kind.ts";
import { goQuote } from "#api/meta/go-quote.ts";
import { utf8Length } from "#lib/text/utf8-length.ts";
import { type FieldError, forbidden, invalid, required, tooLong } from "./field-error.ts";
import { validateImmutableField } from "./immutable.ts";
import { validateAnnotations, validateLabels } from "./labels.ts";
import { isQualifiedName, nameIsDnsLabel } from "./names.ts";
import type { Path } from "./path.ts";

const FIELD_MANAGER_MAX = 128;
const SUBRESOURCE_NAME_MAX = 256;

export interface ObjectMetaOptions {
  readonly namespaced: boolean;
  readonly nameRule: NameRule;
}

export function validateObjectMeta(
  meta: ObjectMeta,
  { namespaced, nameRule }: ObjectMetaOptions,
  path: Path,
): FieldError[] {
  const { name = "", generation = 0 } = meta;
  const errors = validateNames(meta, nameRule, path);
  if (name === "") {
    errors.push(required(path.child("name"), "name or generateName is required"));
  }
  errors.push(...validateNamespace(meta.namespace ?? "", namespaced, path.child("namespace")));
  errors.push(...validateNonNegative(generation, path.child("generation")));
  const { labels, annotations, ownerReferences, finalizers, managedFields } = meta;
  if (labels !== undefined) errors.push(...validateLabels(labels, path.child("labels")));
  if (annotations !== undefined) {
    errors.push(...validateAnnotations(annotations, path.child("annotations")));
  }
  if (ownerReferences !== undefined) {
    errors.push(...validateOwnerReferences(ownerReferences, path.child("ownerReferences")));
  }
  if (finalizers !== undefined) {
    errors.push(...validateFinalizers(finalizers, path.child("finalizers")));
  }
  if (managedFields !== undefined) {
    errors.push(...validateManagedFields(managedFields, path.child("managedFields")));
  }
  return errors;
}

/** The name, and what it was made from, as far as they are there. */
export function validateNames(
  { name = "", generateName = "" }: ObjectMeta,
  nameRule: NameRule,
  path: Path,
): FieldError[] {
  const errors: FieldError[] = [];
  if (generateName !== "") {
    for (const fault of nameRule(generateName, true)) {
      errors.push(invalid(path.child("generateName"), generateName, fault));
    }
  }
  if (name !== "") {
    for (const fault of nameRule(name, false)) {
      errors.push(invalid(path.child("name"), name, fault));
    }
  }
  return errors;
}

/** What an update may do to metadata; finalizers are the caller's where they may be odd already. */
export function validateObjectMetaUpdate(
  next: ObjectMeta,
  old: ObjectMeta,
  path: Path,
): FieldError[] {
  const errors: FieldError[] = [];
  if (old.deletionTimestamp !== undefined) {
    errors.push(...validateNoNewFinalizers(next.finalizers, old.finalizers, path));
  }
  if ((next.resourceVersion ?? "") === "") {
    errors.push(invalid(path.child("resourceVersion"), "", "must be specified for an update"));
  }
  if ((next.generation ?? 0) < (old.generation ?? 0)) {
    const at = path.child("generation");
    errors.push(invalid(at, next.generation ?? 0, "must not be decremented"));
  }
  for (const field of ["name", "namespace", "uid"] as const) {
    const at = path.child(field);
    errors.push(...validateImmutableField(next[field] ?? "", old[field] ?? "", at));
  }
  for (const field of IMMUTABLE_POINTERS) {
    errors.push(...validateImmutableField(next[field], old[field], path.child(field)));
  }
  errors.push(...validateLabels(next.labels, path.child("labels")));
  errors.push(...validateAnnotations(next.annotations, path.child("annotations")));
  errors.push(
    ...validateOwnerReferences(next.ownerReferences ?? [], path.child("ownerReferences")),
  );
  errors.push(...validateManagedFields(next.managedFields ?? [], path.child("managedFields")));
  return errors;
}

export function validateNonNegative(value: number, path: Path): FieldError[] {
  return value < 0 ? [invalid(path, value, "must be greater than or equal to 0")] : [];
}

export function validateFinalizerName(name: string, path: Path): FieldError[] {
  return isQualifiedName(name).map((fault) => invalid(path, name, fault));
}

/** The name that a writer signs its fields with: bounded and printable. */
export function validateFieldManager(manager: string, path: Path): FieldError[] {
  const errors: FieldError[] = [];
  if (manager === "") return errors;
  if (utf8Length(manager) > FIELD_MANAGER_MAX) errors.push(tooLong(path, FIELD_MANAGER_MAX));
  if (ALL_PRINTABLE.test(manager)) return errors;
  let position = 0;
  for (const character of manager) {
    if (!PRINTABLE.test(character)) {
      const code = character.codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0");
      const detail = `invalid character U+${code} (at position ${position})`;
      errors.push(invalid(path, manager, detail));
    }
    position += utf8Length(character);
  }
  return errors;
}

const IMMUTABLE_POINTERS = [
  "creationTimestamp",
  "deletionTimestamp",
  "deletionGracePeriodSeconds",
] as const;

const ALL_PRINTABLE = /^[ -~]*$/;
const PRINTABLE = /^[\p{L}\p{M}\p{N}\p{P}\p{S} ]$/u;

function validateNamespace(namespace: string, namespaced: boolean, path: Path): FieldError[] {
  if (!namespaced) return namespace === "" ? [] : [forbidden(path, "not allowed on this type")];
  if (namespace === "") return [required(path, "")];
  return nameIsDnsLabel(namespace, false).map((fault) => invalid(path, namespace, fault));
}

function validateOwnerReferences(owners: readonly OwnerReference[], path: Path): FieldError[] {
  const errors: FieldError[] = [];
  let controller: string | undefined;
  for (const owner of owners) {
    errors.push(...validateOwnerReference(owner, path));
    if (owner.controller !== true) continue;
    const name = `${owner.kind}/${owner.name}`;
    if (controller === undefined) {
      controller = name;
    } else {
      const detail = `Only one reference can have Controller set to true. Found "true" in references for ${controller} and ${name}`;
      errors.push(invalid(path, owners, detail));
    }
  }
  return errors;
}

function validateOwnerReference(owner: OwnerReference, path: Path): FieldError[] {
  const { apiVersion, kind, name, uid } = owner;
  const errors: FieldError[] = [];
  const parts = apiVersion.split("/");
  const version = parts.length > 2 ? "" : parts.at(-1)!;
  if (version === "") {
    errors.push(invalid(path.child("apiVersion"), apiVersion, "version must not be empty"));
  }
  for (const [field, value] of Object.entries({ kind, name, uid })) {
    if (value === "") errors.push(invalid(path.child(field), value, "must not be empty"));
  }
  if (apiVersion === "v1" && kind === "Event") {
    errors.push(invalid(path, owner, "/v1, Kind=Event is disallowed from being an owner"));
  }
  return errors;
}

function validateFinalizers(finalizers: readonly string[], path: Path): FieldError[] {
  const errors = finalizers.flatMap((finalizer) => validateFinalizerName(finalizer, path));
  if (finalizers.includes("orphan") && finalizers.includes("foregroundDeletion")) {
    const detail = "finalizer orphan and foregroundDeletion cannot be both set";
    errors.push(invalid(path, finalizers, detail));
  }
  return errors;
}

function validateNoNewFinalizers(
  next: readonly string[] = [],
  old: readonly string[] = [],
  path: Path,
): FieldError[] {
  const known = new Set(old);
  const added = [...new Set(next)].filter((finalizer) => !known.has(finalizer)).sort();
  if (added.length === 0) return [];
  const list = added.map((finalizer) => goQuote(finalizer)).join(", ");
  const detail = `no new finalizers can be added if the object is being deleted, found new finalizers []string{${list}}`;
  return [forbidden(path.child("finalizers"), detail)];
}

function validateManagedFields(entries: readonly ManagedFieldsEntry[], path: Path): FieldError[] {
  const errors: FieldError[] = [];
  for (const [i, entry] of entries.entries()) {
    const at = path.index(i);
    const { operation = "", fieldsType = "", manager = "", subresource = "" } = entry;
    if (operation !== "Apply" && operation !== "Update") {
      errors.push(invalid(at.child("operation"), operation, "must be `Apply` or `Update`"));
    }
    if (fieldsType !== "" && fieldsType !== "FieldsV1") {
      errors.push(invalid(at.child("fieldsType"), fieldsType, "must be `FieldsV1`"));
    }
    errors.push(...validateFieldManager(manager, at.child("manager")));
    if (utf8Length(subresource) > SUBRESOURCE_NAME_MAX) {
      errors.push(tooLong(at.child("subresource"), SUBRESOURCE_NAME_MAX));
    }
  }
  return errors;
}
