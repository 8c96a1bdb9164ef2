/** Removes what a structural schema does not know. */
import type { JSONSchemaProps } from "#api/generated/apiextensions.v1.ts";
import { schemaOf } from "#api/schema/from-facts.ts";
import { additionalSchema, itemsSchema } from "./walk.ts";

const RESOURCE_FIELDS = new Set(["apiVersion", "kind", "metadata"]);
/** More unknown fields than this are removed without being listed. */
const UNKNOWN_MAX = 100;

export interface PruneOptions {
  /** The value is a resource, whose apiVersion, kind and metadata are always known. */
  readonly isResource?: boolean;
  /** Receives the paths of the fields that were removed: `spec.list[0].name`. */
  readonly unknown?: string[];
}

/** The value without unknown fields. Scalars and free JSON are shared with the input. */
export function prune(
  value: unknown,
  schema: JSONSchemaProps | undefined,
  { isResource = false, unknown }: PruneOptions = {},
): unknown {
  return pruned(value, schema, isResource, unknown, "");
}

function pruned(
  value: unknown,
  schema: JSONSchemaProps | undefined,
  isResource: boolean,
  unknown: string[] | undefined,
  path: string,
): unknown {
  const keepsUnknown = schema?.["x-kubernetes-preserve-unknown-fields"] === true;
  if (Array.isArray(value)) {
    const items = schema && itemsSchema(schema);
    if (keepsUnknown && items === undefined) return value;
    return value.map((item, i) => pruned(item, items, false, unknown, `${path}[${i}]`));
  }
  if (typeof value !== "object" || value === null) return value;
  const additional = schema && additionalSchema(schema);
  const resource = isResource || schema?.["x-kubernetes-embedded-resource"] === true;
  const kept: Record<string, unknown> = {};
  for (const [key, item] of Object.entries(value)) {
    const property = ownProperty(schema, key);
    const at = path === "" ? key : `${path}.${key}`;
    if (resource && RESOURCE_FIELDS.has(key)) {
      const isEmbedded = key === "metadata" && !isResource;
      kept[key] = isEmbedded ? prunedMetadata(item, unknown, at) : item;
    } else if (property !== undefined) kept[key] = pruned(item, property, false, unknown, at);
    else if (schema?.additionalProperties !== undefined) {
      kept[key] = pruned(item, additional, false, unknown, at);
    } else if (keepsUnknown) kept[key] = item;
    else if (unknown !== undefined && unknown.length < UNKNOWN_MAX) unknown.push(at);
  }
  return kept;
}

/** The metadata of a resource itself has been decoded by its type; that of one inside it has not. */
function prunedMetadata(value: unknown, unknown: string[] | undefined, path: string): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  const known = schemaOf("meta.v1.ObjectMeta").byName;
  const members = Object.entries(value);
  const kept = members.filter(([name]) => known.has(name));
  if (kept.length === members.length) return value;
  for (const [name] of members) if (!known.has(name)) unknown?.push(`${path}.${name}`);
  return Object.fromEntries(kept);
}

function ownProperty(schema: JSONSchemaProps | undefined, key: string) {
  const properties = schema?.properties;
  return properties !== undefined && Object.hasOwn(properties, key) ? properties[key] : undefined;
}
