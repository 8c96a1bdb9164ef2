/**
 * What a type looks like, whatever it came from: the fact tables of the built-in kinds or the
 * OpenAPI schema of a custom resource. Codecs, patches, server-side apply and OpenAPI read only this.
 *
 * Promises:
 * 1. A Schema is immutable and may be recursive: `Field.schema`, `ListSchema.item` and
 *    `MapSchema.value` are resolved on first use.
 * 2. `StructSchema.fields` is in the order in which JSON is written; inlined structs are flattened
 *    into it (their fields carry `inlinedBy`, which only protobuf needs).
 * 3. List and map types belong to the place where a list or map is used, so the same item type may
 *    appear in lists of different types.
 */
export type Schema = ScalarSchema | StructSchema | ListSchema | MapSchema | AnySchema;

export type Scalar =
  | "string"
  | "bool"
  | "int"
  | "int32"
  | "int64"
  | "float64"
  | "bytes" // base64 text in JSON
  | "Time" // RFC 3339, seconds
  | "MicroTime" // RFC 3339, microseconds
  | "Duration" // Go's notation, "1h30m0s"
  | "Quantity"
  | "IntOrString"
  | "UID";

export interface ScalarSchema {
  readonly shape: "scalar";
  readonly scalar: Scalar;
  /** As error messages name it: `string`, `v1.Protocol`. */
  readonly goType: string;
}

/** Free JSON: RawExtension, apiextensions JSON, FieldsV1, preserve-unknown-fields. */
export interface AnySchema {
  readonly shape: "any";
  readonly goType: string;
  /** Where one of the forms it may take is an object of a known type (JSONSchemaPropsOrBool, …). */
  readonly struct?: StructSchema;
}

export interface StructSchema {
  readonly shape: "struct";
  /** OpenAPI definition name, `io.k8s.api.core.v1.Pod`; for custom resources a made-up one. */
  readonly name: string;
  /** Protobuf message name, `k8s.io.api.core.v1.Pod`; "" where there is none. */
  readonly proto: string;
  readonly goType: string;
  readonly fields: readonly Field[];
  readonly byName: ReadonlyMap<string, Field>;
  /** Server-side apply owns it as one value. */
  readonly atomic: boolean;
  /** Fields not in `byName` are kept instead of being unknown. */
  readonly preserveUnknown: boolean;
  /** Of these members one is set; the discriminator, where there is one, says which. */
  readonly union?: UnionFacts | undefined;
}

export interface UnionFacts {
  readonly discriminator: string | undefined;
  readonly fields: readonly string[];
}

export interface ListSchema {
  readonly shape: "list";
  readonly item: Schema;
  readonly listType: "atomic" | "set" | "map";
  readonly keys: readonly string[];
  readonly goType: string;
  /** In protobuf a message of its own, with the items as field 1. */
  readonly message?: boolean;
}

export interface MapSchema {
  readonly shape: "map";
  readonly value: Schema;
  readonly atomic: boolean;
  readonly goType: string;
}

export interface Field {
  readonly name: string;
  /** Protobuf number; 0 where there is none. */
  readonly number: number;
  readonly schema: Schema;
  /** Absent differs from zero: Go has a pointer here. */
  readonly pointer: boolean;
  readonly omitEmpty: boolean;
  readonly omitZero: boolean;
  readonly required: boolean;
  readonly enum: readonly string[] | undefined;
  /** JSON value of a default that the schema itself states. */
  readonly default: unknown;
  readonly patch: PatchFacts | undefined;
  /** What the field itself says of the list or map in it, as published schemas repeat it. */
  readonly stated?: StatedFacts;
  /** The chain of inlined structs that brought the field here, outermost first. */
  readonly inlinedBy: readonly InlinedBy[];
}

export interface StatedFacts {
  readonly listType: "atomic" | "set" | "map" | undefined;
  readonly mapType: "granular" | "atomic" | undefined;
}

export interface PatchFacts {
  readonly strategies: readonly ("merge" | "replace" | "retainKeys")[];
  readonly mergeKey: string | undefined;
}

export interface InlinedBy {
  readonly proto: string;
  readonly number: number;
}
