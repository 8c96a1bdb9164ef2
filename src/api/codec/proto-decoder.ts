/**
 * Decoders from protobuf messages to the JSON shape, generated per type at first use. They fill in
 * what the message holds; bringing the object into normal form is the normalizer's part.
 */
import type { AnySchema, Schema, StructSchema } from "#api/schema/schema.ts";
import { JSON_DEPTH_MAX } from "./json-syntax.ts";
import { define } from "./normal-values.ts";
import { type MessagePart, messageParts } from "./proto-message.ts";
import { ProtobufError, type ProtoReader } from "./proto-reader.ts";
import * as values from "./proto-values.ts";

type Members = Record<string, unknown>;

/** Adds the fields of the message that ends at `end` to the target. */
export type MessageDecoder = (r: ProtoReader, end: number, target: Members) => Members;

interface Slot {
  run: MessageDecoder;
}

export function messageDecoderOf(schema: StructSchema): MessageDecoder {
  return slotOf(schema).run;
}

const slots = new WeakMap<StructSchema, Slot>();

function slotOf(schema: StructSchema): Slot {
  const known = slots.get(schema);
  if (known !== undefined) return known;
  const slot: Slot = {
    run: (r, end, target) => {
      slot.run = compile(schema);
      return slot.run(r, end, target);
    },
  };
  slots.set(schema, slot);
  return slot;
}

const HELPERS = {
  readTime: values.readTime,
  readMicroTime: values.readMicroTime,
  readDuration: values.readDuration,
  readQuantity: values.readQuantity,
  readIntOrString: values.readIntOrString,
  readJson: values.readJson,
  readBytes: values.readBytes,
  readTexts: values.readTexts,
  readSchemaOr,
  define,
  enter,
  wrongWireType,
};

function compile(schema: StructSchema): MessageDecoder {
  const refs = new References();
  const main = functionCode(messageParts(schema), refs);
  const source = `"use strict";
const { ${Object.keys(HELPERS).join(", ")} } = helpers;
${refs.functions.join("\n")}
return ${main};`;
  const make = new Function("helpers", "slots", source);
  return make(HELPERS, refs.slots) as MessageDecoder;
}

class References {
  readonly slots: Slot[] = [];
  /** Decoders of inlined structs, which only this type has. */
  readonly functions: string[] = [];

  define(code: string): string {
    const name = `inlined${this.functions.length}`;
    this.functions.push(`const ${name} = ${code};`);
    return name;
  }

  /** Expression that reads a message of the type with its length in front. */
  read(schema: StructSchema, end: string, target: string, levels: number): string {
    const slot = slotOf(schema);
    let index = this.slots.indexOf(slot);
    if (index < 0) index = this.slots.push(slot) - 1;
    return `enter(r, ${end}, slots[${index}], ${target}, ${levels})`;
  }
}

/** Nested messages, with a limit, for a schema may contain itself. */
function enter(r: ProtoReader, end: number, slot: Slot, target: Members, levels: number): Members {
  const stop = r.end(end);
  r.depth += levels;
  if (r.depth > JSON_DEPTH_MAX) throw new ProtobufError("proto: exceeded max depth");
  const message = slot.run(r, stop, target);
  r.depth -= levels;
  return message;
}

function wrongWireType(tag: number): never {
  throw new ProtobufError(`proto: wrong wireType = ${tag & 7} for field number ${tag >>> 3}`);
}

function functionCode(parts: readonly MessagePart[], refs: References): string {
  const numbers = parts.map(({ number }) => `case ${number}:`).join(" ");
  return `function decode(r, end, o) {
  while (r.at < end) {
    const tag = r.uint32(end);
    switch (tag) {
      ${parts.map((part) => partCode(part, refs)).join("\n      ")}
      default:
        switch (tag >>> 3) { ${numbers === "" ? "" : `${numbers} wrongWireType(tag);`} }
        r.skip(tag, end);
    }
  }
  return o;
}`;
}

function partCode(part: MessagePart, refs: References): string {
  if (part.part === "inlined") {
    const inner = refs.define(functionCode(part.parts, refs));
    return `case ${tagOf(part.number, 2)}: ${inner}(r, r.end(end), o); break;`;
  }
  const { field, number } = part;
  const place = `o[${JSON.stringify(field.name)}]`;
  const { schema } = field;
  if (schema.shape === "list" && !schema.message)
    return listCases(schema.item, number, place, refs);
  if (schema.shape === "map") return mapCase(schema.value, number, place, refs);
  const value = readCode(schema, "end", `${place} ?? {}`, 1, refs);
  return `case ${tagOf(number, wireType(schema))}: ${place} = ${value}; break;`;
}

function listCases(item: Schema, number: number, place: string, refs: References): string {
  const wire = wireType(item);
  const count = item.shape === "struct" ? "r.countListObject(); " : "";
  const read = (end: string) =>
    `{ r.countValue(); ${count}(${place} ??= []).push(${readCode(item, end, "{}", 2, refs)}); }`;
  const single = `case ${tagOf(number, wire)}: ${read("end")} break;`;
  if (wire === 2) return single;
  const packed = `case ${tagOf(number, 2)}: { const stop = r.end(end); while (r.at < stop) ${read("stop")} break; }`;
  return `${single}\n      ${packed}`;
}

function mapCase(value: Schema, number: number, place: string, refs: References): string {
  const read = readCode(value, "stop", "v", 2, refs);
  return `case ${tagOf(number, 2)}: {
        r.countValue();
        const stop = r.end(end);
        let k = "", v = ${zeroCode(value)};
        while (r.at < stop) {
          const t = r.uint32(stop);
          if (t === ${tagOf(1, 2)}) k = r.string(stop);
          else if (t === ${tagOf(2, wireType(value))}) v = ${read};
          else r.skip(t, stop);
        }
        const m = (${place} ??= {});
        if (k === "__proto__") define(m, k, v); else m[k] = v;
        break;
      }`;
}

/** Expression that reads one value; messages add to `target` and nest `levels` deep in JSON. */
function readCode(
  schema: Schema,
  end: string,
  target: string,
  levels: number,
  refs: References,
): string {
  switch (schema.shape) {
    case "struct":
      return refs.read(schema, end, target, levels);
    case "any":
      return anyCode(schema, end, refs);
    case "list":
      return `readTexts(r, ${end})`;
    case "map":
      throw new Error("a map has no message of its own");
    case "scalar":
      break;
  }
  const helper = MESSAGE_SCALARS[schema.scalar];
  if (helper !== undefined) return `${helper}(r, ${end})`;
  switch (schema.scalar) {
    case "bool":
    case "int32":
    case "int64":
    case "float64":
      return `r.${schema.scalar}(${end})`;
    case "int":
      return `r.int64(${end})`;
    default:
      return `r.string(${end})`;
  }
}

const MESSAGE_SCALARS: Readonly<Record<string, string | undefined>> = {
  Time: "readTime",
  MicroTime: "readMicroTime",
  Duration: "readDuration",
  Quantity: "readQuantity",
  IntOrString: "readIntOrString",
  bytes: "readBytes",
};

function anyCode(schema: AnySchema, end: string, refs: References): string {
  if (schema.struct === undefined) return `readJson(r, ${end})`;
  const read = (inner: string) => refs.read(schema.struct!, inner, "{}", 1);
  return `readSchemaOr(r, ${end}, ${JSON.stringify(schema.goType)}, (r, end) => ${read("end")})`;
}

/** The unions around JSON schemas: a schema, or else a bool, a list of schemas, a list of texts. */
function readSchemaOr(
  r: ProtoReader,
  end: number,
  goType: string,
  readSchema: (r: ProtoReader, end: number) => Members,
): unknown {
  const isBool = goType.endsWith("OrBool");
  const isTexts = goType.endsWith("OrStringArray");
  const stop = r.end(end);
  let schema: Members | undefined;
  let allows = false;
  const list: unknown[] = [];
  while (r.at < stop) {
    const tag = r.uint32(stop);
    if (isBool && tag === 0x08) allows = r.bool(stop);
    else if (tag === (isBool ? 0x12 : 0x0a)) schema = readSchema(r, stop);
    else if (!isBool && tag === 0x12) list.push(isTexts ? r.string(stop) : readSchema(r, stop));
    else r.skip(tag, stop);
  }
  if (list.length > 0) return list;
  return schema ?? (isBool ? allows : null);
}

function wireType(schema: Schema): number {
  if (schema.shape !== "scalar") return 2;
  switch (schema.scalar) {
    case "bool":
    case "int":
    case "int32":
    case "int64":
      return 0;
    case "float64":
      return 1;
    default:
      return 2;
  }
}

/** What a map entry without a value holds. */
function zeroCode(schema: Schema): string {
  switch (schema.shape) {
    case "struct":
      return "{}";
    case "list":
      return "[]";
    case "map":
    case "any":
      return "null";
    case "scalar":
      break;
  }
  if (schema.scalar === "Time" || schema.scalar === "MicroTime") return "null";
  if (schema.scalar === "Quantity") return '"0"';
  return wireType(schema) === 2 ? '""' : "0";
}

function tagOf(number: number, wire: number): number {
  return number * 8 + wire;
}
