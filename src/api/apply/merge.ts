/**
 * The live object with an applied configuration laid over it: the configuration's values win, parts
 * that it does not mention stay. Null in the configuration replaces a value, but empties nothing
 * that is owned part by part. Parts that do not change are shared with the live object.
 */
import { isObject, type JsonObject, jsonEqual, setMember } from "#api/patch/json-value.ts";
import type { ListSchema, Schema } from "#api/schema/schema.ts";
import { elementOf, isHollow, memberSchema, ownershipOf, ownMember } from "./typed-values.ts";

export function mergeApplied(live: JsonObject, applied: JsonObject, schema: Schema): JsonObject {
  return mergeMembers(live, applied, schema) as JsonObject;
}

/** Undefined means absent. The live value itself if nothing in it changes. */
function mergeValues(live: unknown, applied: unknown, schema: Schema): unknown {
  if (applied === undefined || applied === live) return live;
  const lead = applied === null && schema.shape === "any" ? live : applied;
  const ownership = ownershipOf(lead, schema);
  if (ownership === "leaf" || (isHollow(live) && isHollow(applied))) {
    return jsonEqual(live, applied) ? live : applied;
  }
  if (ownership === "list") return mergeLists(live, listOf(applied), schema as ListSchema);
  return mergeMembers(live, objectOf(applied), schema);
}

function mergeMembers(live: unknown, applied: JsonObject, schema: Schema): unknown {
  const members = objectOf(live);
  const isScalarMap = schema.shape === "map" && schema.value.shape === "scalar";
  if (isScalarMap && live === undefined) return applied; // all of it is new
  let merged: Record<string, unknown> | undefined;
  for (const name of Object.keys(applied)) {
    const old = ownMember(members, name);
    const wanted = applied[name];
    if (wanted === old) continue;
    const isPlain = isScalarMap && typeof wanted === "string";
    const value = isPlain ? wanted : mergeValues(old, wanted, memberSchema(schema, name));
    if (value === old) continue;
    merged ??= { ...members };
    setMember(merged, name, value);
  }
  return merged ?? live;
}

/**
 * Items of the configuration come in its order. Those that only the live object has keep their
 * place before the next item that both have. Live items that share their keys give way to an
 * applied one, which then stands alone.
 */
function mergeLists(value: unknown, applied: readonly unknown[], list: ListSchema): unknown {
  const live = listOf(value);
  const liveElements = live.map((item) => elementOf(item, list));
  const appliedElements = applied.map((item) => elementOf(item, list));
  const liveItems = singles(live, liveElements);
  const wanted = new Map(appliedElements.map((element, i) => [element, applied[i]]));
  const shared = appliedElements.filter((element) => liveItems.has(element));

  const merged: unknown[] = [];
  const done = new Set<string>();
  let [at, next, turn] = [0, 0, 0];
  while (at < live.length || next < applied.length) {
    const element = liveElements[at];
    const due = appliedElements[next];
    if (element !== undefined && !wanted.has(element)) {
      merged.push(live[at++]);
      continue;
    }
    const othersTurn = turn < shared.length && shared[turn] !== element;
    if (element !== undefined && due !== undefined && element !== due && othersTurn) {
      at++; // it comes when the configuration has it
      continue;
    }
    if (element !== undefined && (element === due || done.has(element))) at++;
    if (due === undefined) continue;
    done.add(due);
    if (shared[turn] === due) turn++;
    merged.push(mergeValues(liveItems.get(due), wanted.get(due), list.item));
    next++;
  }
  const same = merged.length === live.length && merged.every((item, i) => item === live[i]);
  return same ? value : merged;
}

/** Live items by element; those that share one count as null. */
function singles(items: readonly unknown[], elements: readonly string[]): Map<string, unknown> {
  const found = new Map<string, unknown>();
  elements.forEach((element, i) => {
    found.set(element, found.has(element) ? null : items[i]);
  });
  return found;
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function objectOf(value: unknown): JsonObject {
  return isObject(value) ? value : {};
}
