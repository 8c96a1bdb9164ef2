/** Removes what a structural schema does not know. */
import type { JSONSchemaProps } from "#api/generated/apiextensions.v1.ts";
import { schemaOf } from "#api/schema/from-facts.ts";
import { finish, type Steps } from "#lib/async/steps.ts";
import { additionalSchema, itemsSchema, STEP_NODES } from "./walk.ts";

const RESOURCE_FIELDS = new Set(["apiVersion", "kind", "metadata"]);
/** More unknown fields than this are removed without being listed. */
const UNKNOWN_MAX = 100;

export interface PruneOptions {
  /** The value is a resource, whose apiVersion, kind and metadata are always known. */
  readonly isResource?: boolean;
  /** Receives the paths of the fields that were removed: `spec.list[0].name`. */
  readonly unknown?: string[];
  /** The same for fields in the metadata of embedded resources; `unknown` unless given. */
  readonly unknownMetadata?: string[];
  /** Leaves the metadata of embedded resources as it is. */
  readonly keepsMetadata?: boolean;
  /** Removes unknown fields from the metadata of embedded resources only. */
  readonly keepsOthers?: boolean;
}

/** The value without unknown fields. Scalars and free JSON are shared with the input. */
export function prune(
  value: unknown,
  schema: JSONSchemaProps | undefined,
  options: PruneOptions = {},
): unknown {
  return finish(pruneSteps(value, schema, options));
}

/** The same in steps: large objects take long. */
export function* pruneSteps(
  value: unknown,
  schema: JSONSchemaProps | undefined,
  options: PruneOptions = {},
): Steps<unknown> {
  const pruner = new Pruner(options);
  const kept = pruner.keep(value, schema, options.isResource === true, "");
  for (let done = 1; pruner.step(); done++) if (done % STEP_NODES === 0) yield;
  return kept;
}

/** An object or a list whose copy is still to be filled. */
interface Pending {
  readonly value: object;
  readonly kept: unknown[] | Record<string, unknown>;
  readonly schema: JSONSchemaProps | undefined;
  readonly isResource: boolean;
  readonly path: string;
}

/** Walks with a stack of its own, so that the walk can pause anywhere. */
class Pruner {
  readonly #pending: Pending[] = [];
  readonly #unknown: string[] | undefined;
  readonly #unknownMetadata: string[] | undefined;
  readonly #keepsMetadata: boolean;
  readonly #keepsOthers: boolean;

  constructor(options: PruneOptions) {
    this.#unknown = options.unknown;
    this.#unknownMetadata = options.unknownMetadata ?? options.unknown;
    this.#keepsMetadata = options.keepsMetadata === true;
    this.#keepsOthers = options.keepsOthers === true;
  }

  /** The value, or the copy that a later step fills. */
  keep(
    value: unknown,
    schema: JSONSchemaProps | undefined,
    isResource: boolean,
    path: string,
  ): unknown {
    if (typeof value !== "object" || value === null) return value;
    if (Array.isArray(value)) {
      const keepsUnknown = schema?.["x-kubernetes-preserve-unknown-fields"] === true;
      if (keepsUnknown && itemsSchema(schema) === undefined) return value;
    }
    const kept = Array.isArray(value) ? [] : {};
    this.#pending.push({ value, kept, schema, isResource, path });
    return kept;
  }

  /** Fills one copy; false if there was none left. */
  step(): boolean {
    const next = this.#pending.pop();
    if (next === undefined) return false;
    if (Array.isArray(next.value)) this.#fillList(next, next.value);
    else this.#fillObject(next);
    return true;
  }

  #fillList({ kept, schema, path }: Pending, items: readonly unknown[]): void {
    const itemSchema = schema && itemsSchema(schema);
    for (let i = 0; i < items.length; i++) {
      const item = items[i];
      const isPlain = typeof item !== "object" || item === null;
      (kept as unknown[]).push(
        isPlain ? item : this.keep(item, itemSchema, false, `${path}[${i}]`),
      );
    }
  }

  #fillObject({ value, kept: copy, schema, isResource, path }: Pending): void {
    const kept = copy as Record<string, unknown>;
    const keepsUnknown = schema?.["x-kubernetes-preserve-unknown-fields"] === true;
    const additional = schema && additionalSchema(schema);
    const resource = isResource || schema?.["x-kubernetes-embedded-resource"] === true;
    const unknown = this.#unknown;
    for (const [key, item] of Object.entries(value)) {
      const property = ownProperty(schema, key);
      const at = path === "" ? key : `${path}.${key}`;
      if (resource && RESOURCE_FIELDS.has(key)) {
        const isEmbedded = key === "metadata" && !isResource && !this.#keepsMetadata;
        kept[key] = isEmbedded ? prunedMetadata(item, this.#unknownMetadata, at) : item;
      } else if (property !== undefined) kept[key] = this.keep(item, property, false, at);
      else if (schema?.additionalProperties !== undefined) {
        kept[key] = this.keep(item, additional, false, at);
      } else if (keepsUnknown || this.#keepsOthers) kept[key] = item;
      else if (unknown !== undefined && unknown.length < UNKNOWN_MAX) unknown.push(at);
    }
  }
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
