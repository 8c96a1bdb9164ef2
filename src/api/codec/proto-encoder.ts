/**
 * Encoders from the normal form of an object to its protobuf message, generated per type at first
 * use. What JSON leaves out because it is zero is written, as upstream does, so that the bytes are
 * the same.
 */
import type { Field, Schema, StructSchema } from "#api/schema/schema.ts";
import { type MessagePart, messageParts } from "./proto-message.ts";
import * as values from "./proto-values.ts";
import type { ProtoWriter } from "./proto-writer.ts";

type Members = Readonly<Record<string, unknown>>;

/** Writes the message's fields, last one first. */
export type MessageEncoder = (w: ProtoWriter, object: Members) => void;

interface Slot {
  run: MessageEncoder;
}

export function messageEncoderOf(schema: StructSchema): MessageEncoder {
  return slotOf(schema).run;
}

const slots = new WeakMap<StructSchema, Slot>();

function slotOf(schema: StructSchema): Slot {
  const known = slots.get(schema);
  if (known !== undefined) return known;
  const slot: Slot = {
    run: (w, object) => {
      slot.run = compile(schema);
      slot.run(w, object);
    },
  };
  slots.set(schema, slot);
  return slot;
}

const HELPERS = {
  writeTime: values.writeTime,
  writeDuration: values.writeDuration,
  writeQuantity: values.writeQuantity,
  writeIntOrString: values.writeIntOrString,
  writeJson: values.writeJson,
  writeBytes: values.writeBytes,
  writeText: values.writeText,
  writeTexts: values.writeTexts,
  writeSchemaOr,
  EMPTY: {},
};

function compile(schema: StructSchema): MessageEncoder {
  const refs = new References();
  const body = partsCode(messageParts(schema), refs);
  const source = `"use strict";
const { ${Object.keys(HELPERS).join(", ")} } = helpers;
return function encode(w, o) {
  ${body}
};`;
  const make = new Function("helpers", "slots", source);
  return make(HELPERS, refs.slots) as MessageEncoder;
}

class References {
  readonly slots: Slot[] = [];

  write(schema: StructSchema, value: string): string {
    const slot = slotOf(schema);
    let index = this.slots.indexOf(slot);
    if (index < 0) index = this.slots.push(slot) - 1;
    return `slots[${index}].run(w, ${value});`;
  }
}

function partsCode(parts: readonly MessagePart[], refs: References): string {
  return parts
    .toReversed()
    .map((part) => {
      if (part.part === "field") return fieldCode(part.field, part.number, refs);
      const inner = partsCode(part.parts, refs);
      return `{ const i${part.number} = w.size; ${inner} w.uint32(w.size - i${part.number}); ${tag(part.number, 2)} }`;
    })
    .join("\n  ");
}

function fieldCode(field: Field, number: number, refs: References): string {
  const value = `o[${JSON.stringify(field.name)}]`;
  const { schema } = field;
  switch (schema.shape) {
    case "list":
      return schema.message
        ? `{ const v = ${value}; if (v) { ${messageCode("writeTexts(w, v);", number)} } }`
        : listCode(schema.item, value, number, refs);
    case "map":
      return mapCode(schema.value, value, number, refs);
    default:
      break;
  }
  const write = writeCode(schema, "v", number, refs);
  if (field.pointer || isBytes(schema)) {
    return `{ const v = ${value}; if (v !== undefined && v !== null) { ${write} } }`;
  }
  return `{ const v = ${value}${zeroCode(schema)}; ${write} }`;
}

function isBytes(schema: Schema): boolean {
  return schema.shape === "scalar" && schema.scalar === "bytes";
}

function listCode(item: Schema, value: string, number: number, refs: References): string {
  const write = writeCode(item, "v", number, refs);
  return `{ const l = ${value}; if (l) for (let i = l.length - 1; i >= 0; i--) { const v = l[i]; ${write} } }`;
}

function mapCode(item: Schema, value: string, number: number, refs: References): string {
  const write =
    item.shape === "list" ? messageCode("writeTexts(w, v);", 2) : writeCode(item, "v", 2, refs);
  return `{ const l = ${value}; if (l) {
    const ks = Object.keys(l).sort();
    for (let i = ks.length - 1; i >= 0; i--) {
      const k = ks[i], v = l[k], e = w.size;
      ${write}
      writeText(w, k); w.byte(10); w.uint32(w.size - e); ${tag(number, 2)}
    }
  } }`;
}

/** Statements that write a value with its tag; `value` is not null unless its zero is. */
function writeCode(schema: Schema, value: string, number: number, refs: References): string {
  switch (schema.shape) {
    case "struct":
      return messageCode(refs.write(schema, value), number);
    case "any":
      return messageCode(anyCode(schema.goType, schema.struct, value, refs), number);
    case "list":
    case "map":
      throw new Error("a list or map inside a list has no encoding");
    case "scalar":
      break;
  }
  const helper = MESSAGE_SCALARS[schema.scalar];
  if (helper !== undefined) return messageCode(`${helper}(w, ${value});`, number);
  switch (schema.scalar) {
    case "bool":
    case "int":
    case "int32":
    case "int64":
      return `w.varint(${value}); ${tag(number, 0)}`;
    case "float64":
      return `w.float64(${value}); ${tag(number, 1)}`;
    case "bytes":
      return `writeBytes(w, ${value}); ${tag(number, 2)}`;
    default:
      return `writeText(w, ${value}); ${tag(number, 2)}`;
  }
}

const MESSAGE_SCALARS: Readonly<Record<string, string | undefined>> = {
  Time: "writeTime",
  MicroTime: "writeTime",
  Duration: "writeDuration",
  Quantity: "writeQuantity",
  IntOrString: "writeIntOrString",
};

function anyCode(
  goType: string,
  struct: StructSchema | undefined,
  value: string,
  refs: References,
): string {
  if (struct === undefined) return `writeJson(w, ${value});`;
  return `writeSchemaOr(w, ${value}, ${JSON.stringify(goType)}, (w, v) => { ${refs.write(struct, "v")} });`;
}

/** The unions around JSON schemas: a schema, or else a bool, a list of schemas, a list of texts. */
function writeSchemaOr(
  w: ProtoWriter,
  value: unknown,
  goType: string,
  writeSchema: MessageEncoder,
): void {
  const message = (schema: unknown, tagByte: number): void => {
    const mark = w.size;
    writeSchema(w, schema as Members);
    w.uint32(w.size - mark);
    w.byte(tagByte);
  };
  const isSchema = typeof value === "object" && value !== null && !Array.isArray(value);
  if (goType.endsWith("OrBool")) {
    if (isSchema) message(value, 0x12);
    w.varint(isSchema || value === true);
    w.byte(0x08);
    return;
  }
  if (isSchema) message(value, 0x0a);
  if (!Array.isArray(value)) return;
  for (const item of value.toReversed()) {
    if (typeof item !== "string") message(item, 0x12);
    else {
      values.writeText(w, item);
      w.byte(0x12);
    }
  }
}

function messageCode(write: string, number: number): string {
  return `{ const s = w.size; ${write} w.uint32(w.size - s); } ${tag(number, 2)}`;
}

/** What stands for a field that JSON left out. */
function zeroCode(schema: Schema): string {
  if (schema.shape === "struct") return " ?? EMPTY";
  if (schema.shape !== "scalar") return "";
  switch (schema.scalar) {
    case "string":
    case "UID":
      return ' ?? ""';
    case "bool":
    case "int":
    case "int32":
    case "int64":
    case "float64":
      return " ?? 0";
    default:
      return ""; // its writer knows
  }
}

function tag(number: number, wire: number): string {
  return `w.uint32(${number * 8 + wire});`;
}
