/**
 * Reads JSON into a built-in type just as the real server does, in every corner: which nulls mean
 * zero, how a key that stands there twice is merged, which fault is reported first and how it reads.
 * It is slow and complete; ordinary input never gets here (json.ts).
 *
 * A wrong type is remembered and reading goes on; the first one is the answer at the end. A value
 * that a type's own parser refuses (a quantity, a time) ends the reading at once.
 */
import { parseDuration } from "#api/meta/duration.ts";
import { goQuote } from "#api/meta/go-quote.ts";
import { parseQuantity } from "#api/meta/quantity.ts";
import { parseMicroTime, parseTime } from "#api/meta/time.ts";
import type {
  AnySchema,
  Field,
  ListSchema,
  MapSchema,
  ScalarSchema,
  Schema,
  StructSchema,
} from "#api/schema/schema.ts";
import { bytesFromBase64, bytesToBase64 } from "./base64.ts";
import { JSON_DEPTH_MAX, TOO_DEEP } from "./json-syntax.ts";
import {
  findDuplicates,
  findOverflow,
  isDeeperThan,
  type JsonNode,
  JsonNumber,
  JsonObject,
  plainValue,
  wholeNumber,
} from "./json-tree.ts";
import { define } from "./normal-values.ts";

export type ExactlyDecoded =
  | { readonly ok: true; readonly value: unknown; readonly strictErrors: readonly string[] }
  | { readonly ok: false; readonly error: string };

/** More faults of strictness than this are not collected. */
const STRICT_ERRORS_MAX = 100;

export function decodeExactly(schema: StructSchema, tree: JsonNode): ExactlyDecoded {
  const decoder = new Decoder();
  try {
    const value = decoder.value(schema, tree, undefined) ?? {};
    if (decoder.typeError !== undefined) return { ok: false, error: decoder.typeError.message };
    return { ok: true, value, strictErrors: [...decoder.strictErrors] };
  } catch (error) {
    if (error instanceof Refusal) return { ok: false, error: error.message };
    throw error;
  }
}

/** A fault that ends the reading. */
class Refusal extends Error {}

/** A value of the wrong type: what it is, what was wanted. */
class TypeMismatch {
  readonly found: string;
  readonly wanted: string;
  readonly message: string;

  constructor(found: string, wanted: string, place: string) {
    this.found = found;
    this.wanted = wanted;
    this.message = `json: cannot unmarshal ${found} into Go ${place} of type ${wanted}`;
  }
}

type Members = Record<string, unknown>;

class Decoder {
  typeError: TypeMismatch | undefined;
  readonly strictErrors = new Set<string>();
  /** Names of fields and of inlined structs down to here, and the struct that holds the last. */
  readonly #fields: string[] = [];
  #struct = "";
  #path = "";
  /** Levels that are open. */
  #depth: number;

  constructor(depth = 0) {
    this.#depth = depth;
  }

  /** `current` is what earlier keys of the same name left; undefined is Go's zero. */
  value(schema: Schema, node: JsonNode, current: unknown): unknown {
    if (++this.#depth > JSON_DEPTH_MAX) throw new Refusal(TOO_DEEP);
    const value = this.#read(schema, node, current);
    this.#depth--;
    return value;
  }

  #read(schema: Schema, node: JsonNode, current: unknown): unknown {
    switch (schema.shape) {
      case "scalar":
        return this.#scalar(schema, node, current);
      case "any":
        return this.#any(schema, node, current);
      case "struct":
        if (node === null) return current;
        if (node instanceof JsonObject) return this.#members(schema, node, current as Members);
        return this.#mismatch(node, schema.goType, current);
      case "list":
        if (node === null) return undefined;
        if (Array.isArray(node)) return this.#items(schema, node, current as unknown[]);
        return this.#mismatch(node, schema.goType, current);
      case "map":
        if (node === null) return undefined;
        if (node instanceof JsonObject) return this.#entries(schema, node, current as Members);
        return this.#mismatch(node, schema.goType, current);
    }
  }

  #members(schema: StructSchema, node: JsonObject, current: Members = {}): Members {
    const seen = new Set<Field>();
    const struct = this.#struct;
    const path = this.#path;
    for (const [i, key] of node.keys.entries()) {
      const field = schema.byName.get(key);
      if (field === undefined) {
        if (schema.preserveUnknown && key !== "__proto__") {
          if (Object.hasOwn(current, key)) this.#strict("duplicate", key);
          for (const inner of findDuplicates(node.values[i]!, key)) this.strictErrors.add(inner);
          current[key] = node.values[i] === null ? null : this.#free(node.values[i]!);
        } else this.#strict("unknown", key);
        continue;
      }
      if (seen.has(field)) this.#strict("duplicate", key);
      seen.add(field);
      const depth = this.#fields.length;
      for (const { proto } of field.inlinedBy) this.#fields.push(lastName(proto));
      this.#fields.push(key);
      this.#struct = lastName(schema.goType);
      this.#path = path === "" ? key : `${path}.${key}`;
      const child = node.values[i]!;
      const isReset = field.pointer && child === null;
      current[key] = isReset ? undefined : this.value(field.schema, child, current[key]);
      this.#fields.length = depth;
      this.#struct = struct;
      this.#path = path;
    }
    return current;
  }

  #items(schema: ListSchema, node: readonly JsonNode[], current: unknown[] = []): unknown[] {
    const path = this.#path;
    const items = node.map((child, i) => {
      this.#path = `${path}[${i}]`;
      return this.value(schema.item, child, current[i]) ?? zeroOf(schema.item);
    });
    this.#path = path;
    return items;
  }

  #entries(schema: MapSchema, node: JsonObject, current: Members = {}): Members {
    const seen = new Set<string>();
    const path = this.#path;
    for (const [i, key] of node.keys.entries()) {
      if (seen.has(key)) this.#strict("duplicate", key);
      seen.add(key);
      this.#path = path === "" ? key : `${path}.${key}`;
      const value = this.value(schema.value, node.values[i]!, undefined) ?? zeroOf(schema.value);
      define(current, key, value);
      this.#path = path;
    }
    return current;
  }

  #scalar({ scalar, goType }: ScalarSchema, node: JsonNode, current: unknown): unknown {
    switch (scalar) {
      case "string":
      case "UID":
        if (typeof node === "string") return node;
        return node === null ? current : this.#mismatch(node, goType, current);
      case "bool":
        if (typeof node === "boolean") return node;
        return node === null ? current : this.#mismatch(node, goType, current);
      case "int":
      case "int32":
      case "int64":
        return this.#whole(scalar === "int32" ? 32 : 64, goType, node, current);
      case "float64":
        return this.#float(goType, node, current);
      case "bytes":
        return this.#bytes(goType, node, current);
      case "IntOrString":
        return this.#intOrString(node, current);
      case "Quantity":
        return node === null ? "0" : this.#accepted(parseQuantity(quantityText(node)), node);
      case "Time":
        return node === null ? null : this.#accepted(parseTime(this.#text(node)), node);
      case "MicroTime":
        return node === null ? null : this.#accepted(parseMicroTime(this.#text(node)), node);
      case "Duration":
        return this.#accepted(parseDuration(node === null ? "" : this.#text(node)), node);
    }
  }

  /** Hands the value on as written: bringing it into canonical form is the normalizer's. */
  #accepted(parsed: { ok: true } | { ok: false; error: string }, node: JsonNode): string {
    if (!parsed.ok) throw new Refusal(parsed.error);
    return node instanceof JsonNumber ? node.text : (node as string);
  }

  #text(node: JsonNode): string {
    if (typeof node !== "string") throw this.#refusal(kindOf(node), "string");
    return node;
  }

  #whole(bits: 32 | 64, goType: string, node: JsonNode, current: unknown): unknown {
    if (node === null) return current;
    if (!(node instanceof JsonNumber)) return this.#mismatch(node, goType, current);
    const whole = wholeNumber(node.text, bits);
    if (whole !== undefined) return whole;
    return this.#mismatch(node, goType, current, `number ${node.text}`);
  }

  #float(goType: string, node: JsonNode, current: unknown): unknown {
    if (node === null) return current;
    if (!(node instanceof JsonNumber)) return this.#mismatch(node, goType, current);
    const number = Number(node.text);
    if (Number.isFinite(number)) return number;
    return this.#mismatch(node, goType, current, `number ${node.text}`);
  }

  #bytes(goType: string, node: JsonNode, current: unknown): unknown {
    if (node === null) return undefined;
    if (Array.isArray(node)) return bytesToBase64(this.#byteList(node));
    if (typeof node !== "string") return this.#mismatch(node, goType, current);
    const decoded = bytesFromBase64(node);
    if (decoded.ok) return bytesToBase64(decoded.bytes);
    this.typeError ??= { found: "", wanted: "", message: decoded.error };
    return current;
  }

  #byteList(node: readonly JsonNode[]): Uint8Array {
    return Uint8Array.from(node, (child) => {
      if (child === null) return 0;
      if (!(child instanceof JsonNumber)) return Number(this.#mismatch(child, "uint8", 0));
      const byte = wholeNumber(child.text, 64);
      if (typeof byte === "number" && byte >= 0 && byte < 256) return byte;
      return Number(this.#mismatch(child, "uint8", 0, `number ${child.text}`));
    });
  }

  #intOrString(node: JsonNode, current: unknown): unknown {
    if (typeof node === "string") return node;
    if (node === null) return typeof current === "number" ? current : 0;
    if (!(node instanceof JsonNumber)) throw this.#refusal(kindOf(node), "int32");
    const whole = wholeNumber(node.text, 32);
    if (whole === undefined) throw this.#refusal(`number ${node.text}`, "int32");
    return whole;
  }

  #any(schema: AnySchema, node: JsonNode, current: unknown): unknown {
    const { goType, struct } = schema;
    if (struct === undefined) return node === null ? current : this.#free(node);
    switch (goType) {
      case "v1.JSONSchemaPropsOrBool":
        if (typeof node === "boolean") return node;
        if (node instanceof JsonObject) return this.#apart(struct, node);
        throw new Refusal("boolean or JSON schema expected");
      case "v1.JSONSchemaPropsOrStringArray":
        if (Array.isArray(node)) return this.#apart(STRINGS, node);
        return node instanceof JsonObject ? this.#apart(struct, node) : [];
      default:
        if (Array.isArray(node)) return nonEmpty(this.#apart(listOf(struct), node));
        return node instanceof JsonObject ? this.#apart(struct, node) : undefined;
    }
  }

  #free(node: JsonNode): unknown {
    if (isDeeperThan(JSON_DEPTH_MAX - this.#depth, node)) throw new Refusal(TOO_DEEP);
    const number = findOverflow(node);
    if (number !== undefined) throw this.#refusal(`number ${number}`, "float64");
    return plainValue(node);
  }

  /**
   * A part that its type reads for itself: unknown and duplicate fields in it go unnoticed, and a
   * wrong type in it is reported as if the whole part had it.
   */
  #apart(schema: Schema, node: JsonNode): unknown {
    const inner = new Decoder(this.#depth);
    const value = inner.value(schema, node, undefined);
    if (inner.typeError === undefined) return value;
    if (inner.typeError.wanted === "") throw new Refusal(inner.typeError.message);
    throw this.#refusal(inner.typeError.found, inner.typeError.wanted);
  }

  /** Remembers a wrong type; what was there before stays. */
  #mismatch(node: JsonNode, wanted: string, current: unknown, found = kindOf(node)): unknown {
    this.typeError ??= new TypeMismatch(found, wanted, this.#place());
    return current;
  }

  #refusal(found: string, wanted: string): Refusal {
    return new Refusal(new TypeMismatch(found, wanted, this.#place()).message);
  }

  #place(): string {
    if (this.#fields.length === 0) return "value";
    return `struct field ${this.#struct}.${this.#fields.join(".")}`;
  }

  #strict(fault: "unknown" | "duplicate", key: string): void {
    if (this.strictErrors.size >= STRICT_ERRORS_MAX) return;
    const path = this.#path === "" ? key : `${this.#path}.${key}`;
    this.strictErrors.add(`${fault} field ${goQuote(path)}`);
  }
}

function lastName(dotted: string): string {
  return dotted.slice(dotted.lastIndexOf(".") + 1);
}

const STRINGS: ListSchema = {
  shape: "list",
  item: { shape: "scalar", scalar: "string", goType: "string" },
  listType: "atomic",
  keys: [],
  goType: "[]string",
};

function listOf(item: StructSchema): ListSchema {
  return { shape: "list", item, listType: "atomic", keys: [], goType: `[]${item.goType}` };
}

function nonEmpty(value: unknown): unknown {
  return Array.isArray(value) && value.length === 0 ? undefined : value;
}

function kindOf(node: JsonNode): string {
  if (node === null) return "null";
  if (Array.isArray(node)) return "array";
  if (node instanceof JsonObject) return "object";
  if (node instanceof JsonNumber) return "number";
  return typeof node === "boolean" ? "bool" : "string";
}

/** A quantity is read from the text as it stands there, quotes taken off. */
function quantityText(node: JsonNode): string {
  if (typeof node === "string") return node.trim();
  return node instanceof JsonNumber ? node.text : String(node);
}

/** What a null stands for in a list or map. */
function zeroOf(schema: Schema): unknown {
  switch (schema.shape) {
    case "struct":
    case "map":
      return {};
    case "list":
      return [];
    case "any":
      return null;
    case "scalar":
      if (schema.scalar === "bool") return false;
      if (schema.scalar === "Time" || schema.scalar === "MicroTime") return null;
      if (schema.scalar === "Quantity") return "0";
      return /^(int|float|IntOr)/.test(schema.scalar) ? 0 : "";
  }
}
