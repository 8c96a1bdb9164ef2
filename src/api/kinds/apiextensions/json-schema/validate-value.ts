/**
 * Validates a value against a JSON schema: custom resources, and defaults inside schemas. Errors have
 * the texts of upstream's OpenAPI validator, each text once, in its order of checks.
 */
import type { JSONSchemaProps } from "#api/generated/apiextensions.v1.ts";
import { goQuote } from "#api/meta/go-quote.ts";
import { jsonEqual } from "#api/patch/json-value.ts";
import { type FieldError, invalid, required, tooMany } from "#api/validation/field-error.ts";
import { Path } from "#api/validation/path.ts";
import { finish, type Steps } from "#lib/async/steps.ts";
import {
  checkEnum,
  checkFormat,
  checkNumber,
  checkScalar,
  checkText,
  checkType,
  hasType,
  isNumber,
} from "./check-scalar.ts";
import { general, Outcome, valueFault } from "./value-faults.ts";
import { additionalSchema, itemsSchema } from "./walk.ts";

/**
 * `path`: where the value stands; without one, field names start at the value's own fields. `old`: what
 * the value was before an update. Parts that did not change are let pass (ratcheting).
 */
export function validateValue(
  value: unknown,
  schema: JSONSchemaProps,
  path: Path | undefined,
  old?: unknown,
): FieldError[] {
  return finish(validateValueSteps(value, schema, path, old));
}

/** The same in steps: a value may have hundreds of thousands of parts. */
export function* validateValueSteps(
  value: unknown,
  schema: JSONSchemaProps,
  path: Path | undefined,
  old?: unknown,
): Steps<FieldError[]> {
  const { faults } = yield* check(value, schema, "", old);
  return faults.map(({ at, make }) => make(pathOf(path, at)));
}

/** A step of the check looks at about so many parts of a value. */
const STEP_PARTS = 256;

type Json = Readonly<Record<string, unknown>>;

function* check(
  value: unknown,
  schema: JSONSchemaProps,
  at: string,
  old?: unknown,
): Steps<Outcome> {
  if (!isContainer(value) && !hasCombinations(schema)) return checkScalar(value, schema, at, old);
  const outcome = new Outcome();
  if (old !== undefined && jsonEqual(value, old)) return outcome;
  if (value === null || value === undefined) {
    return outcome.merge(checkType(null, schema, at)).merge(checkEnum(null, schema, at));
  }
  const passed = (one: Outcome): void => {
    outcome.merge(one);
    outcome.matches++;
  };
  if (hasType(schema)) passed(checkType(value, schema, at));
  passed(yield* checkCombinations(value, schema, at));
  if (typeof value === "string") {
    passed(checkText(value, schema, at));
    passed(checkFormat(value, schema, at));
  }
  if (isNumber(value)) passed(checkNumber(value, schema, at));
  if (Array.isArray(value)) passed(yield* checkItems(value, schema, at, old));
  passed(checkEnum(value, schema, at));
  if (isObject(value)) passed(yield* checkProperties(value as Json, schema, at, old));
  outcome.matches++;
  return outcome;
}

function isContainer(value: unknown): boolean {
  return typeof value === "object" && value !== null;
}

function hasCombinations({ anyOf, oneOf, allOf, not }: JSONSchemaProps): boolean {
  return anyOf !== undefined || oneOf !== undefined || allOf !== undefined || not !== undefined;
}

function* checkCombinations(value: unknown, schema: JSONSchemaProps, at: string): Steps<Outcome> {
  const outcome = new Outcome();
  const { anyOf = [], oneOf = [], allOf = [], not } = schema;
  if (anyOf.length > 0) {
    const { first, nearest } = yield* tryAll(value, anyOf, at, true);
    if (first === undefined) {
      outcome.add(general(`${goQuote(at)} must validate at least one schema (anyOf)`));
    }
    outcome.merge(first ?? nearest!);
  }
  if (oneOf.length > 0) {
    const { first, nearest, count } = yield* tryAll(value, oneOf, at, false);
    if (count === 1) outcome.merge(first!);
    else {
      const found = count === 0 ? "Found none valid" : `Found ${count} valid alternatives`;
      outcome.add(
        general(`${goQuote(at)} must validate one and only one schema (oneOf). ${found}`),
      );
      if (nearest !== undefined) outcome.merge(nearest);
    }
  }
  if (allOf.length > 0) {
    const all: Outcome[] = [];
    for (const one of allOf) all.push(yield* check(value, one, at));
    for (const one of all) outcome.merge(one);
    const fitting = all.filter(({ fits }) => fits).length;
    if (fitting < all.length) {
      const none = fitting === 0 ? ". None validated" : "";
      outcome.add(general(`${goQuote(at)} must validate all the schemas (allOf)${none}`));
    }
  }
  if (not !== undefined && (yield* check(value, not, at)).fits) {
    outcome.add(general(`${goQuote(at)} must not validate the schema (not)`));
  }
  outcome.matches++;
  return outcome;
}

interface Tried {
  readonly first: Outcome | undefined;
  readonly nearest: Outcome | undefined;
  readonly count: number;
}

function* tryAll(
  value: unknown,
  schemas: readonly JSONSchemaProps[],
  at: string,
  stopAtFirst: boolean,
): Steps<Tried> {
  let first: Outcome | undefined;
  let nearest: Outcome | undefined;
  let count = 0;
  for (const schema of schemas) {
    const outcome = yield* check(value, schema, at);
    if (outcome.fits) {
      first ??= outcome;
      nearest = undefined;
      count++;
      if (stopAtFirst) break;
    } else if (count === 0 && (nearest === undefined || outcome.matches > nearest.matches)) {
      nearest = outcome;
    }
  }
  return { first, nearest, count };
}

function* checkItems(
  value: readonly unknown[],
  schema: JSONSchemaProps,
  at: string,
  old: unknown,
): Steps<Outcome> {
  const outcome = new Outcome();
  const { minItems, maxItems, uniqueItems } = schema;
  const items = itemsSchema(schema);
  if (items !== undefined) {
    const before = oldItems(old, schema);
    const isPlain = !hasCombinations(items);
    for (let i = 0; i < value.length; i++) {
      const item = value[i];
      const itemAt = `${at}[${i}]`;
      const isScalar = isPlain && !isContainer(item);
      outcome.merge(
        isScalar
          ? checkScalar(item, items, itemAt, before(item))
          : yield* check(item, items, itemAt, before(item)),
      );
      if (i % STEP_PARTS === STEP_PARTS - 1) yield;
    }
  }
  const size = value.length;
  if (minItems !== undefined && size < minItems) {
    outcome.add(valueFault(at, size, `should have at least ${minItems} items`));
  }
  if (maxItems !== undefined && size > maxItems) {
    const text = `${at} in body should have at most ${maxItems} items`;
    outcome.add({ text, at, make: (path) => tooMany(path, size, maxItems) });
  }
  if (uniqueItems && value.some((item, i) => value.slice(0, i).some((o) => jsonEqual(o, item)))) {
    outcome.add(valueFault(at, "", "shouldn't contain duplicates"));
  }
  outcome.matches++;
  return outcome;
}

/** Only items of map lists can be correlated with old items. */
function oldItems(old: unknown, schema: JSONSchemaProps): (item: unknown) => unknown {
  const keys = schema["x-kubernetes-list-map-keys"] ?? [];
  const isMap = schema["x-kubernetes-list-type"] === "map" && keys.length > 0;
  if (!isMap || !Array.isArray(old)) return () => undefined;
  const keyOf = (item: unknown): string =>
    JSON.stringify(keys.map((key) => (item as Json | null)?.[key] ?? null));
  const byKey = new Map(old.map((item) => [keyOf(item), item]));
  return (item) => byKey.get(keyOf(item));
}

function* checkProperties(
  value: Json,
  schema: JSONSchemaProps,
  at: string,
  old: unknown,
): Steps<Outcome> {
  const outcome = new Outcome();
  const isCorrelated =
    isObject(old) && old !== null && schema["x-kubernetes-map-type"] !== "atomic";
  const before = isCorrelated ? (old as Json) : {};
  const { minProperties, maxProperties, properties = {}, additionalProperties } = schema;
  const keys = Object.keys(value);
  if (minProperties !== undefined && keys.length < minProperties) {
    outcome.add(valueFault(at, keys.length, `should have at least ${minProperties} properties`));
  }
  if (maxProperties !== undefined && keys.length > maxProperties) {
    const text = `${at} in body should have at most ${maxProperties} properties`;
    outcome.add({ text, at, make: (path) => tooMany(path, keys.length, maxProperties) });
  }
  const additional = additionalSchema(schema);
  let parts = 0;
  for (const key of keys) {
    if (Object.hasOwn(properties, key)) continue;
    parts += 1;
    if (parts % STEP_PARTS === 0) yield;
    if (additionalProperties === false) {
      const text = `${at}.${key} in body is a forbidden property`;
      outcome.add({ text, at, make: (path) => invalid(path, key, text) });
    } else if (additional !== undefined) {
      outcome.merge(yield* check(value[key], additional, `${at}.${key}`, before[key]));
    }
  }
  for (const [name, property] of Object.entries(properties)) {
    if (!Object.hasOwn(value, name)) continue;
    const inside = at === "" ? name : `${at}.${name}`;
    outcome.merge(yield* check(value[name], property, inside, before[name]));
  }
  for (const name of schema.required ?? []) {
    if (Object.hasOwn(value, name)) continue;
    const missing = `${at}.${name}`;
    const text = `${missing} in body is required`;
    outcome.add({ text, at: missing, make: (path) => required(path, "") });
  }
  return outcome;
}

/** How upstream writes a path without steps. */
const NOWHERE = Path.of("<nil>");

function pathOf(path: Path | undefined, at: string): Path {
  const below = at.replace(/^\./, "");
  if (below === "") return path ?? NOWHERE;
  return path === undefined ? Path.of(below) : path.child(below);
}

function isObject(value: unknown): boolean {
  return typeof value === "object" && !Array.isArray(value);
}
