/** Defaults inside a schema must themselves be what the schema asks for. */
import type { JSONSchemaProps } from "#api/generated/apiextensions.v1.ts";
import type { ObjectMeta } from "#api/generated/meta.v1.ts";
import { jsonEqual } from "#api/patch/json-value.ts";
import { type FieldError, invalid, required } from "#api/validation/field-error.ts";
import { isDns1035Label, isPathSegmentName } from "#api/validation/names.ts";
import { validateObjectMeta } from "#api/validation/object-meta.ts";
import type { Path } from "#api/validation/path.ts";
import { prune } from "./prune.ts";
import { validateValue } from "./validate-value.ts";
import { additionalSchema, itemsSchema } from "./walk.ts";

export interface DefaultsOptions {
  /** Defaults with fields that pruning would take away are refused. */
  readonly requirePruned: boolean;
}

/** `schema` is structural; `path` is where it stands. */
export function validateDefaults(
  schema: JSONSchemaProps,
  options: DefaultsOptions,
  path: Path,
): FieldError[] {
  return validateBelow(schema, { isResource: true, insideMeta: false }, options, path);
}

export function hasUnprunedDefault(schema: JSONSchemaProps): boolean {
  const { default: value, properties = {} } = schema;
  if (value !== undefined && !jsonEqual(prune(value, schema), value)) return true;
  const children = [itemsSchema(schema), additionalSchema(schema), ...Object.values(properties)];
  return children.some((child) => child !== undefined && hasUnprunedDefault(child));
}

interface Place {
  readonly isResource: boolean;
  /** Below metadata, kind or apiVersion of a resource. */
  readonly insideMeta: boolean;
}

function validateBelow(
  schema: JSONSchemaProps,
  place: Place,
  options: DefaultsOptions,
  path: Path,
): FieldError[] {
  const isResource = place.isResource || schema["x-kubernetes-embedded-resource"] === true;
  const insideMeta = place.insideMeta && !schema["x-kubernetes-embedded-resource"];
  const errors =
    schema.default === undefined ? [] : validateDefault(schema, insideMeta, options, path);
  const items = itemsSchema(schema);
  if (items !== undefined) {
    const inside = { isResource: false, insideMeta };
    errors.push(...validateBelow(items, inside, options, path.child("items")));
  }
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    const isMeta = isResource && RESOURCE_FIELDS.includes(name);
    const inside = { isResource: false, insideMeta: insideMeta || isMeta };
    errors.push(...validateBelow(property, inside, options, path.child("properties").key(name)));
  }
  return errors;
}

const RESOURCE_FIELDS = ["metadata", "apiVersion", "kind"];

function validateDefault(
  schema: JSONSchemaProps,
  insideMeta: boolean,
  { requirePruned }: DefaultsOptions,
  path: Path,
): FieldError[] {
  const value = schema.default;
  const at = path.child("default");
  const errors: FieldError[] = [];
  if (!insideMeta && requirePruned) {
    if (!jsonEqual(prune(value, schema), value)) {
      errors.push(invalid(at, value, "must not have unknown fields"));
    }
  }
  const meta = insideMeta ? [] : validateEmbedded(value, schema, at);
  return [...errors, ...(meta.length > 0 ? meta : validateValue(value, schema, at))];
}

/** Resources inside a value have a kind, an apiVersion and sound metadata. */
function validateEmbedded(
  value: unknown,
  schema: JSONSchemaProps | undefined,
  path: Path,
): FieldError[] {
  if (schema === undefined || typeof value !== "object" || value === null) return [];
  if (Array.isArray(value)) {
    const items = itemsSchema(schema);
    return value.flatMap((item, i) => validateEmbedded(item, items, path.index(i)));
  }
  const errors: FieldError[] = [];
  if (schema["x-kubernetes-embedded-resource"]) {
    errors.push(...validateResource(value as Readonly<Record<string, unknown>>, path));
  }
  for (const [key, item] of Object.entries(value)) {
    const property = schema.properties?.[key];
    if (property !== undefined) errors.push(...validateEmbedded(item, property, path.child(key)));
    else errors.push(...validateEmbedded(item, additionalSchema(schema), path.key(key)));
  }
  return errors;
}

function validateResource(value: Readonly<Record<string, unknown>>, path: Path): FieldError[] {
  const errors: FieldError[] = [];
  for (const field of ["apiVersion", "kind"] as const) {
    const text = value[field];
    const at = path.child(field);
    if (!Object.hasOwn(value, field)) errors.push(required(at, ""));
    else if (typeof text !== "string") errors.push(invalid(at, text, "must be a string"));
    else if (text === "") errors.push(invalid(at, text, "must not be empty"));
    else {
      const fault = field === "kind" ? kindFault(text) : apiVersionFault(text);
      if (fault !== undefined) errors.push(invalid(at, text, fault));
    }
  }
  const { metadata } = value;
  if (typeof metadata === "object" && metadata !== null) {
    const meta = metadata as ObjectMeta;
    errors.push(
      ...validateObjectMeta(
        { ...meta, name: meta.name === undefined || meta.name === "" ? "fakename" : meta.name },
        { namespaced: (meta.namespace ?? "") !== "", nameRule: isPathSegmentName },
        path.child("metadata"),
      ),
    );
  }
  return errors;
}

function kindFault(kind: string): string | undefined {
  const faults = isDns1035Label(kind.toLowerCase());
  if (faults.length === 0) return undefined;
  return `may have mixed case, but should otherwise match: ${faults.join(",")}`;
}

function apiVersionFault(apiVersion: string): string | undefined {
  if (apiVersion.split("/").length <= 2) return undefined;
  return `unexpected GroupVersion string: ${apiVersion}`;
}
