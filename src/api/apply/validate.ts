/**
 * Whether an applied configuration fits its type: every field declared, values of the right kind,
 * list items that can be told apart. The texts are those of the real server.
 */

import { goFormat } from "#api/meta/go-format.ts";
import { goQuote } from "#api/meta/go-quote.ts";
import { isObject, type JsonObject } from "#api/patch/json-value.ts";
import type { ListSchema, Scalar, Schema } from "#api/schema/schema.ts";
import { formatElement } from "./path-element.ts";
import { elementOf, ItemError, memberSchema } from "./typed-values.ts";

/** What is wrong with the object; undefined if nothing is. */
export function appliedFault(object: JsonObject, schema: Schema): string | undefined {
  const faults: string[] = [];
  checkMembers(object, schema, "", faults);
  if (faults.length < 2) return faults[0];
  return ["errors:", ...faults.map((fault) => `  ${fault}`)].join("\n");
}

function check(value: unknown, schema: Schema, path: string, faults: string[]): void {
  if (value === null || value === undefined) return;
  switch (schema.shape) {
    case "scalar": {
      const fault = scalarFault(value, schema.scalar);
      if (fault !== undefined) faults.push(at(path, fault));
      return;
    }
    case "list":
      if (Array.isArray(value)) checkItems(value, schema, path, faults);
      else faults.push(at(path, `expected list, got ${shown(value)}`));
      return;
    case "struct":
    case "map":
      if (isObject(value)) checkMembers(value, schema, path, faults);
      else faults.push(at(path, `expected map, got ${shown(value)}`));
      return;
    case "any":
      return;
  }
}

function checkMembers(object: JsonObject, schema: Schema, path: string, faults: string[]): void {
  for (const [name, value] of Object.entries(object)) {
    if (schema.shape === "struct" && !schema.preserveUnknown && !schema.byName.has(name)) {
      faults.push(at(`${path}.${name}`, "field not declared in schema"));
      return;
    }
    check(value, memberSchema(schema, name), `${path}.${name}`, faults);
  }
}

function checkItems(
  items: readonly unknown[],
  list: ListSchema,
  path: string,
  faults: string[],
): void {
  const seen = new Set<string>();
  for (const [i, item] of items.entries()) {
    let step = `[${i}]`;
    if (list.listType !== "atomic") {
      try {
        const element = elementOf(item, list);
        step = formatElement(element);
        if (seen.has(element)) faults.push(at(path, `duplicate entries for key ${step}`));
        seen.add(element);
      } catch (error) {
        if (!(error instanceof ItemError)) throw error;
        faults.push(at(path, `element ${i}: ${error.message}`));
        return;
      }
    }
    check(item, list.item, path + step, faults);
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

function at(path: string, fault: string): string {
  return path === "" ? fault : `${path}: ${fault}`;
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
