/** Whole resources inside other objects (`x-kubernetes-embedded-resource`). */
import type { JSONSchemaProps } from "#api/generated/apiextensions.v1.ts";
import type { ObjectMeta } from "#api/generated/meta.v1.ts";
import { type FieldError, invalid, required } from "#api/validation/field-error.ts";
import { isDns1035Label, isPathSegmentName } from "#api/validation/names.ts";
import { validateObjectMeta } from "#api/validation/object-meta.ts";
import type { Path } from "#api/validation/path.ts";
import { additionalSchema, itemsSchema, SchemaFact } from "./walk.ts";

export const hasEmbedded = new SchemaFact(
  (part) => part["x-kubernetes-embedded-resource"] === true,
);

/** Resources inside a value have a kind, an apiVersion and sound metadata. */
export function validateEmbedded(
  value: unknown,
  schema: JSONSchemaProps,
  path: Path,
): FieldError[] {
  return hasEmbedded.holds(schema) ? validateBelow(value, schema, path) : [];
}

function validateBelow(
  value: unknown,
  schema: JSONSchemaProps | undefined,
  path: Path,
): FieldError[] {
  if (schema === undefined || typeof value !== "object" || value === null) return [];
  if (Array.isArray(value)) {
    const items = itemsSchema(schema);
    return value.flatMap((item, i) => validateBelow(item, items, path.index(i)));
  }
  const errors: FieldError[] = [];
  if (schema["x-kubernetes-embedded-resource"]) {
    errors.push(...validateResource(value as Readonly<Record<string, unknown>>, path));
  }
  for (const [key, item] of Object.entries(value)) {
    const property = schema.properties?.[key];
    if (property !== undefined) errors.push(...validateBelow(item, property, path.child(key)));
    else errors.push(...validateBelow(item, additionalSchema(schema), path.key(key)));
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
