/**
 * Brings a JSON value into the normal form of its type: what the server would write after reading
 * it into its struct. Fields stand in writing order, empty ones are left out or written as their
 * zero, map keys are sorted, quantities, times and durations are canonical.
 *
 * Promises:
 * 1. The result shares no struct, list or map with the input; only free JSON is handed on as it is.
 * 2. Whatever is not plainly right (unknown field, wrong type, null in a list, a number out of
 *    range) is thrown back as `UNUSUAL`: the exact decoder knows the words for it.
 * 3. `tally.keys` counts the keys seen, so that a caller who knows how many the text has
 *    detects duplicates.
 *
 * Each type gets code of its own, made at first use (docs/decisions: generated codecs).
 */
import type { Field, Scalar, Schema, StructSchema } from "#api/schema/schema.ts";
import { markEmptyCollection } from "./empty-collections.ts";
import {
  base64,
  define,
  duration,
  freeJson,
  int64,
  microTime,
  quantity,
  sortedKeys,
  tally,
  time,
  UNUSUAL,
} from "./normal-values.ts";

export type Normalizer = (value: unknown) => Record<string, unknown>;

/** A place for a type's code, so that types can refer to each other before their code exists. */
interface Slot {
  run: Normalizer;
}

export function normalizerOf(schema: StructSchema): Normalizer {
  return slotOf(schema).run;
}

// Asking for a slot reads nothing of the type: most types that a type mentions are never met.
const slots = new WeakMap<StructSchema, Slot>();

function slotOf(schema: StructSchema): Slot {
  const known = slots.get(schema);
  if (known !== undefined) return known;
  const slot: Slot = {
    run: (value) => {
      slot.run = compile(schema);
      return slot.run(value);
    },
  };
  slots.set(schema, slot);
  return slot;
}

const HELPERS = {
  base64,
  define,
  duration,
  freeJson,
  int64,
  markEmptyCollection,
  microTime,
  quantity,
  sortedKeys,
  tally,
  time,
};

function compile(schema: StructSchema): Normalizer {
  const refs = new References();
  const keepsEmpty = JSON_STORED.test(schema.name);
  const cases = schema.fields
    .map(({ name }, i) => `case ${JSON.stringify(name)}: f${i} = v; break;`)
    .join("\n      ");
  const locals = schema.fields.map((_, i) => `f${i}`).join(", ");
  const writes = schema.fields.map((field, i) => {
    if (NEVER_EMPTY.test(`${schema.name}.${field.name}`)) return writeGiven(field, `f${i}`, refs);
    const write = writeField(field, `f${i}`, refs, keepsEmpty);
    return isMetadataOfPart(schema, field) ? `${write}\n  ${DROP_MANAGERS}` : write;
  });
  const source = `"use strict";
const { ${Object.keys(HELPERS).join(", ")} } = helpers;
return function ${functionName(schema)}(o) {
  if (typeof o !== "object" || o === null || Array.isArray(o)) throw UNUSUAL;
  ${locals === "" ? "" : `let ${locals};`}
  ${schema.preserveUnknown ? "const others = {};" : ""}
  let keys = 0;
  for (const k in o) {
    const v = o[k];
    keys++;
    switch (k) {
      ${cases}
      default: ${schema.preserveUnknown ? KEEP_UNKNOWN : "throw UNUSUAL;"}
    }
  }
  tally.keys += keys;
  const r = {};
  ${writes.join("\n  ")}
  return ${schema.preserveUnknown ? "Object.assign(r, others)" : "r"};
};`;
  const make = new Function("helpers", "UNUSUAL", "slots", source);
  return make(HELPERS, UNUSUAL, refs.slots) as Normalizer;
}

/** Unknown fields of a custom resource are free JSON; its own schema judges them later. */
const KEEP_UNKNOWN = 'if (k === "__proto__") throw UNUSUAL; freeJson(v); others[k] = v;';

/**
 * Groups whose objects are stored as JSON: an empty list stays one there. Protobuf loses it; only
 * `items`, which is never stored, stays as it is everywhere.
 */
const JSON_STORED = /\.(apiextensions|apiregistration)\./;

/**
 * Lists that must not be empty. An empty one is kept, so that validation distinguishes it from an
 * absent one; it is refused, so that it is never stored.
 */
const NEVER_EMPTY = /\.(HPAScalingRules\.policies|PodFailurePolicyOnExitCodesRequirement\.values)$/;

/** An empty list of managers says something for a whole object, and nothing for a template in it. */
const DROP_MANAGERS =
  "if (r.metadata?.managedFields?.length === 0) delete r.metadata.managedFields;";

function isMetadataOfPart(schema: StructSchema, { name }: Field): boolean {
  return name === "metadata" && !schema.byName.has("apiVersion");
}

class References {
  readonly slots: Slot[] = [];

  call(schema: StructSchema, value: string): string {
    const slot = slotOf(schema);
    let index = this.slots.indexOf(slot);
    if (index < 0) index = this.slots.push(slot) - 1;
    return `slots[${index}].run(${value})`;
  }
}

function writeField(field: Field, value: string, refs: References, keepsEmpty: boolean): string {
  const set = (written: string) => `r[${JSON.stringify(field.name)}] = ${written};`;
  const { schema } = field;
  const code = codeOf(schema, value, refs);
  const always = isAlwaysWritten(field);
  const absent = always ? set(field.pointer ? "null" : zeroOf(schema, refs)) : "";

  let present = set(code.result);
  if (!field.pointer) {
    const empty = field.omitZero ? "=== null" : EMPTY[code.kind];
    const optional = !always && field.name !== "managedFields"; // an empty list resets them
    const isMany = code.kind === "list" || code.kind === "map";
    const mark = isMany ? `markEmptyCollection(r, ${JSON.stringify(field.name)});` : "";
    if (optional && empty !== undefined) {
      present = `if (!(${code.result} ${empty})) ${present}${mark && ` else ${mark}`}`;
    }
    if (always && code.kind === "list" && !keepsEmpty && field.name !== "items") {
      present = `if (${code.result}.length > 0) ${present} else { ${set("null")} ${mark} }`;
    }
  }
  const body = `${code.before}\n    ${present}`;
  return `if (${value} !== undefined && ${value} !== null) {\n    ${body}\n  }${absent === "" ? "" : ` else ${absent}`}`;
}

/** Writes a list that was given, empty or not. */
function writeGiven(field: Field, value: string, refs: References): string {
  const { before, result } = codeOf(field.schema, value, refs);
  const set = (written: string) => `r[${JSON.stringify(field.name)}] = ${written};`;
  const absent = isAlwaysWritten(field) ? set("null") : "";
  return `if (${value} !== undefined && ${value} !== null) {\n    ${before}\n    ${set(result)}\n  } else { ${absent} }`;
}

/** The test for an empty value, by type; types not listed are never empty. */
const EMPTY: Readonly<Record<string, string | undefined>> = {
  string: '=== ""',
  bool: "=== false",
  number: "== 0",
  list: ".length === 0",
  map: "=== null",
};

function isAlwaysWritten({ omitEmpty, omitZero, pointer, schema }: Field): boolean {
  if (!omitEmpty && !omitZero) return true;
  if (pointer || omitZero) return false;
  if (schema.shape === "scalar") return STRUCT_SCALARS.has(schema.scalar);
  return schema.shape === "struct" || schema.shape === "any";
}

/** Scalars in JSON that are structs in Go, which "omitempty" never leaves out. */
const STRUCT_SCALARS: ReadonlySet<Scalar> = new Set<Scalar>([
  "Time",
  "MicroTime",
  "Duration",
  "Quantity",
  "IntOrString",
]);

function zeroOf(schema: Schema, refs: References): string {
  if (schema.shape === "struct") return refs.call(schema, "{}");
  if (schema.shape !== "scalar") return "null";
  return ZEROS[schema.scalar];
}

const ZEROS: Readonly<Record<Scalar, string>> = {
  string: '""',
  UID: '""',
  bool: "false",
  int: "0",
  int32: "0",
  int64: "0",
  float64: "0",
  bytes: "null",
  Time: "null",
  MicroTime: "null",
  Duration: '"0s"',
  Quantity: '"0"',
  IntOrString: "0",
};

interface ValueCode {
  /** Statements that check and convert. */
  readonly before: string;
  /** Expression of the finished value. */
  readonly result: string;
  readonly kind: "string" | "bool" | "number" | "list" | "map" | "other";
}

function codeOf(schema: Schema, value: string, refs: References): ValueCode {
  switch (schema.shape) {
    case "scalar":
      return scalarCode(schema.scalar, value);
    case "struct":
      return { before: "", result: refs.call(schema, value), kind: "other" };
    case "any":
      return anyCode(schema.goType, schema.struct, value, refs);
    case "list":
      return listCode(schema.item, value, refs);
    case "map":
      return mapCode(schema.value, value, refs);
  }
}

function scalarCode(scalar: Scalar, value: string): ValueCode {
  const check = (condition: string, kind: ValueCode["kind"]): ValueCode => ({
    before: `if (!(${condition})) throw UNUSUAL;`,
    result: value,
    kind,
  });
  const convert = (helper: string, kind: ValueCode["kind"]): ValueCode => ({
    before: `${value} = ${helper}(${value});`,
    result: value,
    kind,
  });
  switch (scalar) {
    case "string":
    case "UID":
      return check(`typeof ${value} === "string"`, "string");
    case "bool":
      return check(`typeof ${value} === "boolean"`, "bool");
    case "int32":
      return check(`(${value} | 0) === ${value}`, "number");
    case "int":
    case "int64":
      return convert("int64", "number");
    case "float64":
      return check(`Number.isFinite(${value})`, "number");
    case "IntOrString":
      return check(`typeof ${value} === "string" || (${value} | 0) === ${value}`, "other");
    case "bytes":
      return convert("base64", "string");
    case "Time":
      return convert("time", "other");
    case "MicroTime":
      return convert("microTime", "other");
    case "Duration":
      return convert("duration", "other");
    case "Quantity":
      return convert("quantity", "other");
  }
}

/** Free JSON stays as it is; a JSON schema among it is a struct. */
function anyCode(
  goType: string,
  struct: StructSchema | undefined,
  value: string,
  refs: References,
): ValueCode {
  if (struct === undefined) {
    return { before: `freeJson(${value});`, result: value, kind: "other" };
  }
  const asStruct = refs.call(struct, value);
  const other = {
    "v1.JSONSchemaPropsOrBool": `if (typeof ${value} !== "boolean") ${value} = ${asStruct};`,
    "v1.JSONSchemaPropsOrArray": `if (Array.isArray(${value}) && ${value}.length > 0) ${value} = ${value}.map((s) => ${refs.call(struct, "s")}); else ${value} = ${asStruct};`,
    "v1.JSONSchemaPropsOrStringArray": `if (Array.isArray(${value})) { for (const s of ${value}) if (typeof s !== "string") throw UNUSUAL; } else ${value} = ${asStruct};`,
  }[goType];
  return { before: other ?? "throw UNUSUAL;", result: value, kind: "other" };
}

function listCode(item: Schema, value: string, refs: References): ValueCode {
  const e = `${value}e`;
  const i = `${value}i`;
  const { before, result } = codeOf(item, e, refs);
  return {
    before: `if (!Array.isArray(${value})) throw UNUSUAL;
    const ${value}l = [];
    for (let ${i} = 0; ${i} < ${value}.length; ${i}++) { let ${e} = ${value}[${i}]; ${before} ${value}l.push(${result}); }`,
    result: `${value}l`,
    kind: "list",
  };
}

function mapCode(item: Schema, value: string, refs: References): ValueCode {
  const e = `${value}e`;
  const m = `${value}m`;
  const { before, result } = codeOf(item, e, refs);
  return {
    before: `let ${m} = null;
    for (const k of sortedKeys(${value})) { let ${e} = ${value}[k]; ${before} if (${m} === null) ${m} = {};
      if (k === "__proto__") define(${m}, k, ${result}); else ${m}[k] = ${result}; }`,
    result: m,
    kind: "map",
  };
}

function functionName({ name }: StructSchema): string {
  return name.slice(name.lastIndexOf(".") + 1).replace(/\W/g, "_");
}
