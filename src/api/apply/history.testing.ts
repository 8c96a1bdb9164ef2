/** For tests: plays writes against one object, without a server, and lists its managers. */
import { normalize } from "#api/codec/json.ts";
import type { Status } from "#api/generated/meta.v1.ts";
import type { JsonObject } from "#api/patch/json-value.ts";
import { findSchemaOfKind } from "#api/schema/from-facts.ts";
import type { StructSchema } from "#api/schema/schema.ts";
import { applyPatch } from "./apply.ts";
import { withManagedFields } from "./managed-object.ts";
import { managedFieldsAfter, type UpdateInput } from "./update.ts";
import type { FieldFilter, VersionSeam } from "./versions.ts";

export interface Write {
  readonly manager: string;
  readonly subresource?: string;
  readonly filter?: FieldFilter;
  readonly force?: boolean;
}

/** The next object with its managedFields. */
export function applyUpdate(input: UpdateInput): JsonObject {
  return withManagedFields(input.next, managedFieldsAfter(input));
}

export class History {
  readonly #apiVersion: string;
  readonly #kind: string;
  readonly #schema: StructSchema;
  readonly #versions: VersionSeam | undefined;
  #live: JsonObject | undefined;
  #seconds = 0;

  constructor(apiVersion: string, kind: string, versions?: VersionSeam, schema?: StructSchema) {
    const [version = "", group = ""] = apiVersion.split("/").reverse();
    this.#apiVersion = apiVersion;
    this.#kind = kind;
    this.#schema = schema ?? findSchemaOfKind(group, version, kind)!;
    this.#versions = versions;
  }

  get live(): JsonObject {
    return this.#live!;
  }

  /** Goes on from an object that is there. */
  from(live: JsonObject): this {
    this.#live = live;
    return this;
  }

  /** Creates or replaces the object. */
  put(write: Write, object: JsonObject): this {
    const next = this.#normal(this.#whole(object));
    this.#store(applyUpdate({ ...this.#base(write), live: this.#live, next }));
    return this;
  }

  /** Undefined if it went well. */
  apply(write: Write, object: JsonObject): Status | undefined {
    const result = applyPatch({
      ...this.#base(write),
      live: this.#live,
      applied: this.#whole(object),
      kind: this.#kind,
      force: write.force ?? false,
    });
    if (!result.ok) return result.status;
    this.#store(this.#normal(result.value));
    return undefined;
  }

  /** One line per manager: `name Apply[/subresource] @seconds {fields}`. */
  managers(): string[] {
    const { managedFields = [] } = this.#live!.metadata as { managedFields?: JsonObject[] };
    return managedFields.map(({ manager, operation, subresource, time, fieldsV1 }) => {
      const place = subresource === undefined ? "" : `/${subresource}`;
      const at = time === undefined ? "" : ` @${Number(String(time).slice(17, 19))}`;
      return `${manager} ${operation}${place}${at} ${JSON.stringify(fieldsV1).replaceAll('"', "")}`;
    });
  }

  #base({ manager, subresource = "", filter }: Write) {
    this.#seconds++;
    const nowIso = `2030-01-01T00:00:${String(this.#seconds).padStart(2, "0")}Z`;
    const versions = this.#versions;
    const apiVersion = this.#apiVersion;
    return { schema: this.#schema, manager, apiVersion, subresource, nowIso, filter, versions };
  }

  #whole(object: JsonObject): JsonObject {
    const metadata = { name: "a", ...(object.metadata as JsonObject | undefined) };
    return { apiVersion: this.#apiVersion, kind: this.#kind, ...object, metadata };
  }

  #normal(object: JsonObject): JsonObject {
    const decoded = normalize(this.#schema, object);
    if (!decoded.ok) throw new Error(decoded.error);
    return decoded.value;
  }

  #store(object: JsonObject): void {
    this.#live = { ...object, metadata: { ...(object.metadata as JsonObject), uid: "u" } };
  }
}
