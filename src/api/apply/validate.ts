/**
 * Whether an applied configuration fits its type: every field declared, values of the right kind,
 * list items with unique keys. The texts are those of the real server.
 */

import { goFormat } from "#api/meta/go-format.ts";
import { goQuote } from "#api/meta/go-quote.ts";
import { isObject, type JsonObject } from "#api/patch/json-value.ts";
import type { ListSchema, Scalar, Schema } from "#api/schema/schema.ts";
import { formatElement } from "./path-element.ts";
import { elementOf, ItemError, memberElement, memberSchema } from "./typed-values.ts";

/** What is wrong with the object; undefined if nothing is. */
export function appliedFault(object: JsonObject, schema: Schema): string | undefined {
  return faultOf(object, schema, { texts: [], duplicates: "refused" });
}

/** The same for an object that is stored: its lists may hold things twice. */
export function liveFault(object: JsonObject, schema: Schema): string | undefined {
  return faultOf(object, schema, { texts: [], duplicates: "allowed" });
}

/** Whether `liveFault` finds none. */
export function isSoundLive(object: JsonObject, schema: Schema): boolean {
  const faults: Faults = { texts: [], duplicates: "allowed", isOneEnough: true };
  checkMembers(object, schema, undefined, faults);
  return faults.texts.length === 0;
}

interface Faults {
  readonly texts: string[];
  /** The search ends with the first fault. */
  readonly isOneEnough?: boolean;
  readonly duplicates: "refused" | "allowed";
}

function faultOf(object: JsonObject, schema: Schema, faults: Faults): string | undefined {
  checkMembers(object, schema, undefined, faults);
  const { texts } = faults;
  if (texts.length < 2) return texts[0];
  return ["errors:", ...texts.map((fault) => `  ${fault}`)].join("\n");
}

/** Where a value stands; its text is made only for a fault. */
interface Trail {
  readonly parent: Trail | undefined;
  /** A path element. */
  readonly step: string;
}

function check(value: unknown, schema: Schema, trail: Trail, faults: Faults): void {
  if (value === null || value === undefined) return;
  switch (schema.shape) {
    case "scalar": {
      const fault = scalarFault(value, schema.scalar);
      if (fault !== undefined) faults.texts.push(at(trail, fault));
      return;
    }
    case "list":
      if (Array.isArray(value)) checkItems(value, schema, trail, faults);
      else faults.texts.push(at(trail, `expected list, got ${shown(value)}`));
      return;
    case "struct":
    case "map":
      if (isObject(value)) checkMembers(value, schema, trail, faults);
      else faults.texts.push(at(trail, `expected map, got ${shown(value)}`));
      return;
    case "any":
      return;
  }
}

function isEnough({ texts, isOneEnough = false }: Faults): boolean {
  return isOneEnough && texts.length > 0;
}

function checkMembers(
  object: JsonObject,
  schema: Schema,
  parent: Trail | undefined,
  faults: Faults,
): void {
  const entries =
    schema.shape === "map" && schema.value.shape === "scalar" ? schema.value : undefined;
  for (const name of Object.keys(object)) {
    if (isEnough(faults)) return;
    const value = object[name];
    // Maps of scalars may have tens of thousands of entries.
    if (entries !== undefined && scalarFault(value ?? "", entries.scalar) === undefined) continue;
    const trail = { parent, step: memberElement(schema, name) };
    if (schema.shape === "struct" && !schema.preserveUnknown && !schema.byName.has(name)) {
      faults.texts.push(at(trail, "field not declared in schema"));
      return;
    }
    check(value, memberSchema(schema, name), trail, faults);
  }
}

function checkItems(
  items: readonly unknown[],
  list: ListSchema,
  parent: Trail,
  faults: Faults,
): void {
  const seen = new Set<string>();
  for (const [i, item] of items.entries()) {
    if (isEnough(faults)) return;
    let step = `i:${i}`;
    if (list.listType !== "atomic") {
      try {
        step = elementOf(item, list);
      } catch (error) {
        if (!(error instanceof ItemError)) throw error;
        faults.texts.push(at(parent, `element ${i}: ${error.message}`));
        return;
      }
      if (seen.has(step) && faults.duplicates === "refused") {
        faults.texts.push(at(parent, `duplicate entries for key ${formatElement(step)}`));
      }
      seen.add(step);
    }
    check(item, list.item, { parent, step }, faults);
  }
}

function scalarFault(value: unknown, scalar: Scalar): string | undefined {
  switch (scalar) {
    case "int":
    case "int32":
    case "int64":
    case "float64":
      if (typeof value === "number" || typeof value === "bigint") return undefined;
      return `expected numeric (int or float), got ${goTypeOf(value)}`;
    case "bool":
      return typeof value === "boolean" ? undefined : `expected boolean, got ${shown(value)}`;
    case "string":
    case "bytes":
    case "Duration":
    case "UID":
      if (typeof value === "string") return undefined;
      return `expected string, got &value.valueUnstructured{Value:${goSyntax(value)}}`;
    default:
      return typeof value === "object" ? `expected any scalar, got ${shown(value)}` : undefined;
  }
}

function at(trail: Trail, fault: string): string {
  let path = "";
  for (let step: Trail | undefined = trail; step !== undefined; step = step.parent) {
    path = formatElement(step.step) + path;
  }
  return `${path}: ${fault}`;
}

/** The server prints its own wrapper around the value. */
function shown(value: unknown): string {
  return `&{${goFormat(value)}}`;
}

function goTypeOf(value: unknown): string {
  if (typeof value === "boolean") return "bool";
  if (Array.isArray(value)) return "[]interface {}";
  return typeof value === "object" ? "map[string]interface {}" : "string";
}

/** As Go's `%#v`. */
function goSyntax(value: unknown): string {
  if (typeof value === "string") return goQuote(value);
  if (value === null || value === undefined) return "interface {}(nil)";
  if (Array.isArray(value)) return `[]interface {}{${value.map(goSyntax).join(", ")}}`;
  if (isObject(value)) {
    const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
    const shownMembers = members.map(([key, v]) => `${goQuote(key)}:${goSyntax(v)}`).join(", ");
    return `map[string]interface {}{${shownMembers}}`;
  }
  return String(value);
}
