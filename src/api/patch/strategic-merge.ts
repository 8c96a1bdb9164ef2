/**
 * Strategic merge patch: a merge patch that knows the type of what it patches. Lists merge by key
 * where the schema says so, and directives say what a merge cannot:
 *
 *     $patch: replace | delete                the object (or a list, from within) as a whole
 *     $retainKeys: [a, b]                     only these members stay
 *     $deleteFromPrimitiveList/f: [x]         takes values out of list f
 *     $setElementOrder/f: [{name: a}, …]      the order of list f
 *
 * Promises:
 * 1. Original and patch stay as they are; the result shares what the patch does not touch.
 * 2. Only directives and facts of the schema count: an unknown member is set like any other, and it
 *    is for the decoder to refuse it.
 * 3. A merged list keeps the relative order of the patch's items and of the others; where both are
 *    known to the original, they interleave as there.
 */
import { goFormat } from "#api/meta/go-format.ts";
import { goQuote } from "#api/meta/go-quote.ts";
import {
  badRequestStatus,
  failure,
  type Result,
  success,
  unknownStatus,
  unprocessableStatus,
} from "#api/meta/status.ts";
import type { Field, ListSchema, Schema, StructSchema } from "#api/schema/schema.ts";
import { isObject, type JsonObject, member, setMember, withoutNulls } from "./json-value.ts";
import {
  checkOrder,
  mergeScalars,
  noMergeKey,
  orderMerged,
  requireList,
  requireUniform,
  StrategicPatchError,
} from "./strategic-lists.ts";

const DIRECTIVE = "$patch";
const RETAIN_KEYS = "$retainKeys";
const DELETE_FROM_LIST = "$deleteFromPrimitiveList";
const SET_ORDER = "$setElementOrder";

export function applyStrategicMergePatch(
  original: JsonObject,
  patch: JsonObject,
  schema: StructSchema,
): Result<JsonObject> {
  try {
    return success(mergeObjects(original, patch, schema));
  } catch (error) {
    if (!(error instanceof StrategicPatchError)) throw error;
    switch (error.fault) {
      case "bad-request":
        return failure(badRequestStatus(error.message));
      case "unprocessable":
        return failure(unprocessableStatus());
      case "unknown":
        return failure(unknownStatus(error.message));
    }
  }
}

function mergeObjects(original: JsonObject, patch: JsonObject, schema: Schema): JsonObject {
  const directive = member(patch, DIRECTIVE);
  if (directive !== undefined) return replaceOrDelete(directive, patch);

  const merged = retain(original, patch);
  const done = mergeOrderedLists(merged, patch, schema);
  for (const [name, value] of Object.entries(patch)) {
    if (name === RETAIN_KEYS || name.startsWith(SET_ORDER) || done.has(name)) continue;
    if (name.startsWith(DELETE_FROM_LIST)) deleteFromList(merged, name, value, schema);
    else mergeMember(merged, name, value, schema);
  }
  return merged;
}

function replaceOrDelete(directive: unknown, patch: JsonObject): JsonObject {
  if (directive === "delete") return {};
  if (directive !== "replace") throw unknownDirective(directive, patch);
  const { [DIRECTIVE]: _, ...rest } = patch;
  return rest;
}

/** A copy of the original with only the members that `$retainKeys` names. */
function retain(original: JsonObject, patch: JsonObject): Record<string, unknown> {
  const retained = member(patch, RETAIN_KEYS);
  if (retained === undefined) return { ...original };
  const wrong = new StrategicPatchError("bad-request", "invalid patch format of retainKeys");
  if (!Array.isArray(retained)) throw wrong;
  const names = new Set(retained);
  for (const [name, value] of Object.entries(patch)) {
    const free = value === null || name === RETAIN_KEYS || isListDirective(name);
    if (!free && !names.has(name)) throw wrong;
  }
  const kept: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(original)) {
    if (names.has(name)) setMember(kept, name, value);
  }
  return kept;
}

function isListDirective(name: string): boolean {
  return name.startsWith(DELETE_FROM_LIST) || name.startsWith(SET_ORDER);
}

function mergeMember(
  merged: Record<string, unknown>,
  name: string,
  value: unknown,
  schema: Schema,
): void {
  if (value === null) {
    delete merged[name];
    return;
  }
  const current = member(merged, name);
  if (isObject(current) && isObject(value)) {
    const field = fieldOf(schema, name);
    setMember(merged, name, replaces(field) ? value : mergeObjects(current, value, field.schema));
  } else if (Array.isArray(current) && Array.isArray(value)) {
    const { field, list } = listFieldOf(schema, name);
    setMember(merged, name, merges(field) ? mergeLists(current, value, field, list) : value);
  } else {
    const added = withoutDirectives(withoutNulls(value));
    if (added === undefined) delete merged[name];
    else setMember(merged, name, added);
  }
}

/** Lists with `$setElementOrder`; answers which members it has dealt with. */
function mergeOrderedLists(
  merged: Record<string, unknown>,
  patch: JsonObject,
  schema: Schema,
): ReadonlySet<string> {
  const done = new Set<string>();
  for (const [directive, wanted] of Object.entries(patch)) {
    if (!directive.startsWith(SET_ORDER)) continue;
    const order = requireList(wanted);
    const name = targetOf(directive, SET_ORDER, "invalid patch format of setElementOrder list");
    const current = Object.hasOwn(merged, name) ? requireList(merged[name]) : undefined;
    const changes = Object.hasOwn(patch, name) ? requireList(patch[name]) : undefined;
    const { field, list } = listFieldOf(schema, name);
    const mergeKey = field.patch?.mergeKey ?? "";
    checkOrder(changes ?? [], order, mergeKey);

    let items = current ?? (withoutDirectives(changes) as readonly unknown[] | undefined);
    if (items === undefined) continue;
    if (current !== undefined && changes !== undefined) {
      items = merges(field) ? mergeLists(current, changes, field, list) : changes;
    }
    requireUniform([current ?? [], changes ?? []]);
    setMember(merged, name, orderMerged(items, order, current ?? [], mergeKey));
    done.add(name);
  }
  return done;
}

function deleteFromList(
  merged: Record<string, unknown>,
  directive: string,
  value: unknown,
  schema: Schema,
): void {
  const fault = "invalid patch format of primitive list";
  const name = targetOf(directive, DELETE_FROM_LIST, fault) || directive;
  if (value === null) {
    delete merged[name];
    return;
  }
  const current = member(merged, name);
  if (!Array.isArray(current) || !Array.isArray(value)) return;
  const { field, list } = listFieldOf(schema, name);
  if (current.length === 0 && value.length === 0) return;
  const items =
    requireUniform([current, value]) === "map"
      ? mergeLists(current, value, field, list)
      : current.filter((item) => !value.includes(item));
  setMember(merged, name, items);
}

/** The list that a directive's name ends in: `$setElementOrder/ports`. */
function targetOf(directive: string, prefix: string, fault: string): string {
  const slash = directive.indexOf("/");
  if (slash !== prefix.length) throw new StrategicPatchError("bad-request", fault);
  return directive.slice(slash + 1);
}

function mergeLists(
  original: readonly unknown[],
  patch: readonly unknown[],
  field: Field,
  list: ListSchema,
): readonly unknown[] {
  if (original.length === 0 && patch.length === 0) return original;
  if (requireUniform([original, patch]) !== "map") return mergeScalars(original, patch);
  const mergeKey = field.patch?.mergeKey ?? "";
  if (mergeKey === "") {
    throw new StrategicPatchError("unknown", "cannot merge lists without merge key for struct");
  }
  const special = applySpecialItems(original as JsonObject[], patch as JsonObject[], mergeKey);
  if (special.replaced) return special.patch;
  const merged = mergeItems(special.original, special.patch, mergeKey, list.item);
  return orderMerged(merged, special.patch, special.original, mergeKey);
}

interface SpecialItems {
  readonly replaced: boolean;
  readonly original: readonly JsonObject[];
  readonly patch: readonly JsonObject[];
}

/** Takes the items with `$patch` out of the patch and carries them out. */
function applySpecialItems(
  original: readonly JsonObject[],
  patch: readonly JsonObject[],
  mergeKey: string,
): SpecialItems {
  let replaced = false;
  const deleted = new Set<unknown>();
  const plain: JsonObject[] = [];
  for (const item of patch) {
    const directive = member(item, DIRECTIVE);
    if (directive === undefined) plain.push(item);
    else if (directive === "replace") replaced = true;
    else if (directive === "merge") {
      const message = "merging lists cannot yet be specified in the patch";
      throw new StrategicPatchError("unknown", message);
    } else if (directive !== "delete") throw unknownDirective(directive, item);
    else if (!Object.hasOwn(item, mergeKey)) throw noMergeKey(item, mergeKey);
    else deleted.add(item[mergeKey]);
  }
  const left =
    deleted.size === 0 ? original : original.filter((item) => !deleted.has(member(item, mergeKey)));
  return { replaced, original: left, patch: plain };
}

/** Items that the original has are merged in their place, others come after. */
function mergeItems(
  original: readonly JsonObject[],
  patch: readonly JsonObject[],
  mergeKey: string,
  schema: Schema,
): readonly JsonObject[] {
  const merged = [...original];
  const places = new Map<unknown, number>();
  merged.forEach((item, i) => {
    const key = member(item, mergeKey);
    if (key !== undefined && !places.has(key)) places.set(key, i);
  });
  for (const item of patch) {
    if (!Object.hasOwn(item, mergeKey)) throw noMergeKey(item, mergeKey);
    const key = item[mergeKey];
    const place = places.get(key);
    if (place !== undefined) merged[place] = mergeObjects(merged[place]!, item, schema);
    else places.set(key, merged.push(item) - 1);
  }
  return merged;
}

function fieldOf(schema: Schema, name: string): Field {
  if (schema.shape === "map") {
    const message = "merging an object in json but data type is not struct, instead is: map";
    throw new StrategicPatchError("unknown", message);
  }
  const field = schema.shape === "struct" ? schema.byName.get(name) : undefined;
  if (field !== undefined) return field;
  const struct = schema.goType.slice(schema.goType.lastIndexOf(".") + 1);
  const message = `unable to find api field in struct ${struct} for the json field ${goQuote(name)}`;
  throw new StrategicPatchError("unknown", message);
}

function listFieldOf(schema: Schema, name: string): { field: Field; list: ListSchema } {
  const field = fieldOf(schema, name);
  const list = field.schema;
  if (list.shape === "list") return { field, list };
  throw new StrategicPatchError("unknown", "expected slice or array type, but got: struct");
}

function merges({ patch }: Field): boolean {
  return patch?.strategies.includes("merge") ?? false;
}

function replaces({ patch }: Field): boolean {
  return patch?.strategies.includes("replace") ?? false;
}

function unknownDirective(directive: unknown, patch: JsonObject): StrategicPatchError {
  const message = `unknown patch type: ${goFormat(directive)} in map: ${goFormat(patch)}`;
  return new StrategicPatchError("unknown", message);
}

/** Where nothing is there to patch, an object with a directive is nothing: undefined. */
function withoutDirectives(value: unknown): unknown {
  if (Array.isArray(value)) {
    return value.map(withoutDirectives).filter((item) => item !== undefined);
  }
  if (!isObject(value)) return value;
  if (Object.hasOwn(value, DIRECTIVE)) return undefined;
  const kept: Record<string, unknown> = {};
  for (const [name, child] of Object.entries(value)) {
    const clean = withoutDirectives(child);
    if (clean !== undefined) setMember(kept, name, clean);
  }
  return kept;
}
