/** Object types with the fields they declare, for the checker. */
import type { TypeProvider } from "#api/cel/declarations.ts";
import { parseType } from "#api/cel/types/signature.ts";
import { objectType, type Type } from "#api/cel/types/type.ts";

export type FieldTypes = ReadonlyMap<string, Type>;

export function objectTypes(types: ReadonlyMap<string, FieldTypes>): TypeProvider {
  return {
    findType: (name) => (types.has(name) ? objectType(name) : undefined),
    findField: (typeName, field) => types.get(typeName)?.get(field),
  };
}

/** Fields in the notation of signatures: `{ name: "string" }`. */
export function fieldTypes(fields: Readonly<Record<string, string>>): FieldTypes {
  return new Map(Object.entries(fields).map(([name, type]) => [name, parseType(type)]));
}
