/** Lists that are sets or maps hold no item twice; items of maps are objects. */
import type { JSONSchemaProps } from "#api/generated/apiextensions.v1.ts";
import { goMapJson } from "#api/meta/go-json.ts";
import { duplicate, type FieldError, invalid } from "#api/validation/field-error.ts";
import type { Path } from "#api/validation/path.ts";
import type { Steps } from "#lib/async/steps.ts";
import { additionalSchema, itemsSchema, SchemaFact } from "./walk.ts";

/** A step looks at about so many items. */
const STEP_ITEMS = 256;
/** More are not listed. */
const ERRORS_MAX = 1_001;

const hasUniqueLists = new SchemaFact(
  ({ "x-kubernetes-list-type": type }) => type === "set" || type === "map",
);

/** `path`: of the value; field names start at its members without one. */
export function* validateListItems(
  value: unknown,
  schema: JSONSchemaProps,
  path: Path,
): Steps<FieldError[]> {
  const errors: FieldError[] = [];
  if (hasUniqueLists.holds(schema)) yield* validateBelow(value, schema, path, errors);
  return errors;
}

function* validateBelow(
  value: unknown,
  schema: JSONSchemaProps | undefined,
  path: Path,
  errors: FieldError[],
): Steps<void> {
  if (schema === undefined || typeof value !== "object" || value === null) return;
  if (errors.length >= ERRORS_MAX) return;
  if (Array.isArray(value)) {
    yield* duplicateItems(value, schema, path, errors);
    const items = itemsSchema(schema);
    for (let i = 0; i < value.length && items !== undefined; i++) {
      if (i % STEP_ITEMS === STEP_ITEMS - 1) yield;
      if (typeof value[i] === "object") {
        yield* validateBelow(value[i], items, path.index(i), errors);
      }
    }
    return;
  }
  const { properties = {} } = schema;
  const additional = additionalSchema(schema);
  let count = 0;
  for (const [key, item] of Object.entries(value)) {
    count += 1;
    if (count % STEP_ITEMS === 0) yield;
    if (typeof item !== "object") continue;
    if (Object.hasOwn(properties, key)) {
      yield* validateBelow(item, properties[key], path.child(key), errors);
    } else if (additional !== undefined) {
      yield* validateBelow(item, additional, path.key(key), errors);
    }
  }
}

function* duplicateItems(
  items: readonly unknown[],
  schema: JSONSchemaProps,
  path: Path,
  errors: FieldError[],
): Steps<void> {
  const type = schema["x-kubernetes-list-type"];
  if (type !== "set" && type !== "map") return;
  const wrong = type === "map" ? items.findIndex(isNoMember) : -1;
  if (wrong >= 0) {
    const detail = "must be an object for an array of list-type map";
    errors.push(invalid(path.index(wrong), items[wrong], detail));
    return;
  }
  const keys = schema["x-kubernetes-list-map-keys"] ?? [];
  const counts = new Map<string, number>();
  for (const [i, item] of items.entries()) {
    if (i % STEP_ITEMS === STEP_ITEMS - 1) yield;
    const shown = type === "set" ? item : keysOf(item, keys);
    const text = goMapJson(shown);
    const count = (counts.get(text) ?? 0) + 1;
    counts.set(text, count);
    if (count === 2 && errors.length < ERRORS_MAX) errors.push(duplicate(path.index(i), shown));
  }
}

/** A null counts as an object without keys. */
function isNoMember(item: unknown): boolean {
  return typeof item !== "object" || Array.isArray(item);
}

function keysOf(item: unknown, keys: readonly string[]): unknown {
  if (typeof item !== "object" || item === null) return {};
  const members = item as Readonly<Record<string, unknown>>;
  const given = keys.filter((key) => Object.hasOwn(members, key));
  return Object.fromEntries(given.map((key) => [key, members[key]]));
}
