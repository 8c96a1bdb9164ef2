/** The type that a built-in kind gives to expressions which are checked against it. */
import { BOOL, BYTES, DOUBLE, DYN, INT, TIMESTAMP } from "#api/cel/types/type.ts";
import type { Scalar, Schema, StructSchema } from "#api/schema/schema.ts";
import {
  type DeclaredType,
  declaredList,
  declaredMap,
  declaredObject,
  STRING_KEY,
  simpleType,
} from "./declared-type.ts";
import { escapeFieldName } from "./field-names.ts";

/** Quantities are a text or a number in published schemas, which expressions cannot know. */
const SCALARS: Readonly<Record<Scalar, DeclaredType | undefined>> = {
  string: STRING_KEY,
  UID: STRING_KEY,
  Duration: STRING_KEY,
  bool: simpleType(BOOL, 4),
  int: simpleType(INT, 1),
  int32: simpleType(INT, 1),
  int64: simpleType(INT, 1),
  float64: simpleType(DOUBLE, 1),
  bytes: simpleType(BYTES, 2),
  Time: simpleType(TIMESTAMP, 21),
  MicroTime: simpleType(TIMESTAMP, 21),
  IntOrString: simpleType(DYN, 1),
  Quantity: undefined,
};

/** Undefined for types that contain themselves. */
export function kindType(schema: StructSchema, name: string): DeclaredType | undefined {
  return isRecursive(schema, []) ? undefined : structType(schema, name);
}

function structType({ fields }: StructSchema, name: string): DeclaredType {
  const types = new Map<string, DeclaredType>();
  for (const field of fields) {
    const escaped = escapeFieldName(field.name);
    if (escaped === undefined) continue;
    const type = typeOf(field.schema, `${name}.${escaped}`);
    if (type !== undefined) types.set(escaped, type);
  }
  return declaredObject(name, types);
}

function typeOf(schema: Schema, name: string): DeclaredType | undefined {
  switch (schema.shape) {
    case "scalar":
      return SCALARS[schema.scalar];
    case "struct":
      return structType(schema, name);
    case "list": {
      const element = typeOf(schema.item, `${name}.@idx`);
      return element && declaredList(element, 0);
    }
    case "map": {
      const element = typeOf(schema.value, `${name}.@elem`);
      return element && declaredMap(STRING_KEY, element, 0);
    }
    case "any":
      // Free objects are objects without fields; free values have no type at all.
      return /RawExtension|FieldsV1/.test(schema.goType)
        ? declaredObject(name, new Map())
        : undefined;
  }
}

function isRecursive(schema: Schema, within: readonly string[]): boolean {
  switch (schema.shape) {
    case "struct": {
      if (within.includes(schema.name)) return true;
      const inner = [...within, schema.name];
      return schema.fields.some((field) => isRecursive(field.schema, inner));
    }
    case "list":
      return isRecursive(schema.item, within);
    case "map":
      return isRecursive(schema.value, within);
    case "any":
      return schema.struct !== undefined && isRecursive(schema.struct, within);
    default:
      return false;
  }
}
