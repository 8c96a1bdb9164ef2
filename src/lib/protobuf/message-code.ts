/**
 * Functions that write and read the messages of a table, generated when a message is first used: they
 * name the fields, so that objects have one shape and no table is looked through. Names and numbers come
 * from tables in our sources, never from outside.
 */
import type { FieldType, MessageFunctions, Table } from "./message.ts";
import { DELIMITED, FIXED64, VARINT, type WireReader, type WireWriter } from "./wire.ts";

/** Writes the fields, the last one first. */
export type WriteMessage = (writer: WireWriter, message: object) => void;
/** Reads the fields up to `end`. */
export type ReadMessage = (reader: WireReader, end: number) => object;

export function generateWrite(table: Table): WriteMessage {
  const codecs: MessageFunctions[] = [];
  const fields = Object.entries(table).toReversed();
  const code = fields.map(([name, [number, type]]) => {
    const value = `m[${JSON.stringify(name)}]`;
    return `{ const v = ${value}; if (v !== undefined) { ${writeCode(number, type, codecs)} } }`;
  });
  const source = `"use strict"; return function write(w, m) { ${code.join("\n")} };`;
  return new Function("codecs", source)(codecs) as WriteMessage;
}

export function generateRead(table: Table): ReadMessage {
  const codecs: MessageFunctions[] = [];
  const fields = Object.entries(table);
  const zeros = fields.map(([, [, type]], index) => `let f${index} = ${zeroCode(type)};`);
  const cases = fields.map(([, [number, type]], index) => readCode(number, type, index, codecs));
  const members = fields.map(([name], index) => `${JSON.stringify(name)}: f${index}`);
  const source = `"use strict"; return function read(r, end) {
    ${zeros.join(" ")}
    while (r.at < end) {
      const tag = Number(r.varint(end));
      switch (tag) { ${cases.join("\n")} default: r.skip(tag, end); }
    }
    return { ${members.join(", ")} };
  };`;
  return new Function("codecs", "NOTHING", source)(codecs, new Uint8Array()) as ReadMessage;
}

function writeCode(number: number, type: FieldType, codecs: MessageFunctions[]): string {
  const text = tagCode(number, DELIMITED);
  if (typeof type === "object") {
    if ("one" in type) return messageCode(number, type.one, "v", codecs);
    if ("many" in type) return backwards(messageCode(number, type.many, "v[i]", codecs));
    if ("map" in type) {
      const entry = `const s = w.size; if (e[i][1] !== "") { w.text(e[i][1]); w.number(18); }
        if (e[i][0] !== "") { w.text(e[i][0]); w.number(10); } w.number(w.size - s); ${text}`;
      return `const e = Object.entries(v); ${backwards(entry, "e")}`;
    }
    if (type.list === "text") return backwards(`w.text(v[i]); ${text}`);
    const items = backwards("w.varint(v[i]);");
    return `if (v.length > 0) { const s = w.size; ${items} w.number(w.size - s); ${text} }`;
  }
  switch (type) {
    case "bytes":
      return `if (v.length > 0) { w.bytes(v); ${text} }`;
    case "text":
      return `if (v !== "") { w.text(v); ${text} }`;
    case "double":
      return `if (v !== 0) { w.double(v); ${tagCode(number, FIXED64)} }`;
    case "fixed64":
      return `if (v !== 0n) { w.fixed64(v); ${tagCode(number, FIXED64)} }`;
    case "bool":
      return `if (v === true) { w.number(1); ${tagCode(number, VARINT)} }`;
    default:
      return `if (v !== 0 && v !== 0n) { w.varint(v); ${tagCode(number, VARINT)} }`;
  }
}

function messageCode(
  number: number,
  codec: MessageFunctions,
  value: string,
  codecs: MessageFunctions[],
): string {
  const index = codecs.push(codec) - 1;
  return `const s = w.size; codecs[${index}].write(w, ${value}); w.number(w.size - s); ${tagCode(number, DELIMITED)}`;
}

function backwards(code: string, list = "v"): string {
  return `for (let i = ${list}.length - 1; i >= 0; i--) { ${code} }`;
}

function tagCode(number: number, wireType: number): string {
  return `w.number(${number * 8 + wireType});`;
}

function readCode(
  number: number,
  type: FieldType,
  index: number,
  codecs: MessageFunctions[],
): string {
  const caseOf = (wireType: number, code: string): string =>
    `case ${number * 8 + wireType}: ${code} break;`;
  const field = `f${index}`;
  if (typeof type === "object") {
    if ("map" in type) return caseOf(DELIMITED, mapEntryCode(field));
    if ("list" in type) {
      if (type.list === "text") return caseOf(DELIMITED, `${field}.push(r.text(end));`);
      const packed = `{ const e = r.end(end); while (r.at < e) ${field}.push(r.int(e)); }`;
      return `${caseOf(DELIMITED, packed)} ${caseOf(VARINT, `${field}.push(r.int(end));`)}`;
    }
    const at = codecs.push("one" in type ? type.one : type.many) - 1;
    const inner = `codecs[${at}].read(r, r.end(end))`;
    return caseOf(DELIMITED, "one" in type ? `${field} = ${inner};` : `${field}.push(${inner});`);
  }
  switch (type) {
    case "bytes":
    case "text":
      return caseOf(DELIMITED, `${field} = r.${type}(end);`);
    case "double":
    case "fixed64":
      return caseOf(FIXED64, `${field} = r.${type}(end);`);
    case "bool":
      return caseOf(VARINT, `${field} = Number(r.varint(end)) !== 0;`);
    default:
      return caseOf(VARINT, `${field} = r.${type}(end);`);
  }
}

function mapEntryCode(field: string): string {
  return `{ const e = r.end(end); let k = "", v = "";
    while (r.at < e) {
      const t = Number(r.varint(e));
      if (t === 10) k = r.text(e); else if (t === 18) v = r.text(e); else r.skip(t, e);
    }
    ${field}[k] = v; }`;
}

function zeroCode(type: FieldType): string {
  if (typeof type === "object") {
    if ("one" in type) return "undefined";
    // No prototype: keys come from outside.
    return "map" in type ? "Object.create(null)" : "[]";
  }
  if (type === "int" || type === "double") return "0";
  if (type === "int64" || type === "fixed64") return "0n";
  if (type === "bool") return "false";
  return type === "bytes" ? "NOTHING" : '""';
}
