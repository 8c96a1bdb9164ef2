/** How the fields of a struct are spread over protobuf messages. */
import type { Field, StructSchema } from "#api/schema/schema.ts";

/**
 * A message in field order. An inlined struct is a message of its own there, although its fields
 * stand beside the others in JSON.
 */
export type MessagePart =
  | { readonly part: "field"; readonly number: number; readonly field: Field }
  | { readonly part: "inlined"; readonly number: number; readonly parts: readonly MessagePart[] };

export function messageParts(schema: StructSchema): readonly MessagePart[] {
  return partsOf(schema.fields, 0);
}

/** Whether the type can travel as protobuf at all: Tables, for one, cannot. */
export function hasProtobuf(schema: StructSchema): boolean {
  return schema.proto !== "" && schema.fields.every((f) => f.number > 0 || isTypeMeta(f));
}

function isTypeMeta({ name }: Field): boolean {
  return name === "kind" || name === "apiVersion";
}

function partsOf(fields: readonly Field[], level: number): MessagePart[] {
  const parts: MessagePart[] = [];
  const inlined = new Map<number, Field[]>();
  for (const field of fields) {
    const by = field.inlinedBy[level];
    if (by !== undefined) inlined.set(by.number, [...(inlined.get(by.number) ?? []), field]);
    else if (field.number > 0) parts.push({ part: "field", number: field.number, field });
  }
  for (const [number, members] of inlined) {
    parts.push({ part: "inlined", number, parts: partsOf(members, level + 1) });
  }
  return parts.sort((a, b) => a.number - b.number);
}
