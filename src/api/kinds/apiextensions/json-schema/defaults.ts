/** Defaults inside a schema must themselves be what the schema asks for. */
import type { JSONSchemaProps } from "#api/generated/apiextensions.v1.ts";
import { jsonEqual } from "#api/patch/json-value.ts";
import { type FieldError, invalid } from "#api/validation/field-error.ts";
import type { Path } from "#api/validation/path.ts";
import { validateEmbedded } from "./embedded-resources.ts";
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
