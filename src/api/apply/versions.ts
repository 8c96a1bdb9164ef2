/** Objects and schemas in the versions that managers speak. */
import type { JsonObject } from "#api/patch/json-value.ts";
import type { StructSchema } from "#api/schema/schema.ts";
import { type Comparison, compareObjects } from "./compare.ts";
import { type FieldPattern, matching } from "./field-pattern.ts";
import { differenceBelow, type FieldSet } from "./field-set.ts";
import { type LargeNodes, NO_LARGE_NODES } from "./large-nodes.ts";

/** What a write to a place cannot change, because the kind's rules put it back. */
export type FieldFilter =
  | { readonly except: FieldSet }
  | { readonly only: readonly FieldPattern[] };

/** How an object looks in another served version of its kind. */
export interface VersionSeam {
  /** Undefined for a version that is not served any more: its managers are forgotten. */
  schema(apiVersion: string): StructSchema | undefined;
  convert(object: JsonObject, apiVersion: string): JsonObject;
}

/** One write's view of versions: its own, and others through the seam. */
export class Versions {
  readonly own: string;
  readonly #schema: StructSchema;
  readonly #seam: VersionSeam | undefined;

  constructor(own: string, schema: StructSchema, seam: VersionSeam | undefined) {
    this.own = own;
    this.#schema = schema;
    this.#seam = seam;
  }

  schema(apiVersion: string): StructSchema | undefined {
    return apiVersion === this.own ? this.#schema : this.#seam?.schema(apiVersion);
  }

  /** An object in version `from` as one in version `to`; both must be served. */
  convert(object: JsonObject, from: string, to: string): JsonObject {
    return from === to ? object : this.#seam!.convert(object, to);
  }
}

/** What a write changed, as each version sees it. Made when first asked for. */
export class Changes {
  readonly #versions: Versions;
  readonly #before: JsonObject;
  readonly #after: JsonObject;
  readonly #filter: FieldFilter | undefined;
  readonly #nodes: LargeNodes;
  readonly #made = new Map<string, Comparison | undefined>();

  constructor(
    versions: Versions,
    before: JsonObject,
    after: JsonObject,
    filter: FieldFilter | undefined,
    nodes = NO_LARGE_NODES,
  ) {
    this.#versions = versions;
    this.#before = before;
    this.#after = after;
    this.#filter = filter;
    this.#nodes = nodes;
  }

  /** Undefined if the version is not served. */
  at(apiVersion: string): Comparison | undefined {
    if (!this.#made.has(apiVersion)) this.#made.set(apiVersion, this.#compare(apiVersion));
    return this.#made.get(apiVersion);
  }

  #compare(apiVersion: string): Comparison | undefined {
    const schema = this.#versions.schema(apiVersion);
    if (schema === undefined) return undefined;
    const inVersion = (object: JsonObject) =>
      this.#versions.convert(object, this.#versions.own, apiVersion);
    const { changed, removed } = compareObjects(
      inVersion(this.#before),
      inVersion(this.#after),
      schema,
      this.#nodes,
    );
    return { changed: filtered(changed, this.#filter), removed: filtered(removed, this.#filter) };
  }
}

export function filtered(set: FieldSet, filter: FieldFilter | undefined): FieldSet {
  if (filter === undefined) return set;
  return "except" in filter ? differenceBelow(set, filter.except) : matching(set, filter.only);
}
