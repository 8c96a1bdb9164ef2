/** The types of CEL, as the checker knows them. */
export type TypeKind =
  | "dyn"
  | "null"
  | "bool"
  | "int"
  | "uint"
  | "double"
  | "string"
  | "bytes"
  | "timestamp"
  | "duration"
  | "any"
  | "error"
  | "list"
  | "map"
  | "type"
  | "object"
  | "opaque"
  | "param";

export interface Type {
  readonly kind: TypeKind;
  /** What values of it are called at run time. */
  readonly name: string;
  readonly params: readonly Type[];
}

export const DYN = plain("dyn");
export const NULL = plain("null", "null_type");
export const BOOL = plain("bool");
export const INT = plain("int");
export const UINT = plain("uint");
export const DOUBLE = plain("double");
export const STRING = plain("string");
export const BYTES = plain("bytes");
export const TIMESTAMP = plain("timestamp", "google.protobuf.Timestamp");
export const DURATION = plain("duration", "google.protobuf.Duration");
export const ANY = plain("any", "google.protobuf.Any");
export const ERROR = plain("error", "error");

export function listType(element: Type): Type {
  return { kind: "list", name: "list", params: [element] };
}

export function mapType(key: Type, value: Type): Type {
  return { kind: "map", name: "map", params: [key, value] };
}

/** The type of types. */
export function typeType(of: Type | undefined): Type {
  return { kind: "type", name: "type", params: of === undefined ? [] : [of] };
}

export function objectType(name: string): Type {
  return { kind: "object", name, params: [] };
}

export function opaqueType(name: string, ...params: Type[]): Type {
  return { kind: "opaque", name, params };
}

export function optionalType(of: Type): Type {
  return opaqueType("optional_type", of);
}

export function paramType(name: string): Type {
  return { kind: "param", name, params: [] };
}

export function isOptional({ kind, name }: Type): boolean {
  return kind === "opaque" && name === "optional_type";
}

/** What an optional holds, and the type itself for others. */
export function unwrapOptional(type: Type): Type {
  return isOptional(type) ? type.params[0]! : type;
}

export function isDyn({ kind }: Type): boolean {
  return kind === "dyn" || kind === "any";
}

export function isDynOrError(type: Type): boolean {
  return type.kind === "error" || isDyn(type);
}

export function isSameType(a: Type, b: Type): boolean {
  if (a === b) return true;
  if (a.kind !== b.kind || a.name !== b.name || a.params.length !== b.params.length) return false;
  return a.params.every((param, i) => isSameType(param, b.params[i]!));
}

/** As error texts show it. */
export function showType({ kind, name, params }: Type): string {
  switch (kind) {
    case "any":
    case "duration":
    case "timestamp":
    case "null":
      return kind;
    case "error":
      return "!error!";
    default:
      return params.length === 0 ? name : `${name}(${params.map(showType).join(", ")})`;
  }
}

function plain(kind: TypeKind, name: string = kind): Type {
  return { kind, name, params: [] };
}
