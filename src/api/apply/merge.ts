/**
 * The live object with an applied configuration laid over it: the configuration's values win, parts
 * that it does not mention stay. Null in the configuration replaces a value, but empties nothing
 * that is owned part by part.
 */
import { isObject, type JsonObject, setMember } from "#api/patch/json-value.ts";
import type { ListSchema, Schema } from "#api/schema/schema.ts";
import { elementOf, isHollow, memberSchema, ownershipOf, ownMember } from "./typed-values.ts";

export function mergeApplied(live: JsonObject, applied: JsonObject, schema: Schema): JsonObject {
  return (mergeValues(live, applied, schema) ?? {}) as JsonObject;
}

/** Undefined means absent, before and after. */
function mergeValues(live: unknown, applied: unknown, schema: Schema): unknown {
  const lead =
    applied === undefined || (applied === null && schema.shape === "any") ? live : applied;
  const ownership = ownershipOf(lead, schema);
  if (ownership === "leaf" || (isHollow(live) && isHollow(applied))) {
    return applied === undefined ? live : applied;
  }
  if (ownership === "list") {
    const items = mergeLists(listOf(live), listOf(applied), schema as ListSchema);
    return items.length > 0 ? items : undefined;
  }
  return mergeMembers(objectOf(live), objectOf(applied), schema);
}

function mergeMembers(
  live: JsonObject,
  applied: JsonObject,
  schema: Schema,
): JsonObject | undefined {
  const merged: Record<string, unknown> = {};
  let found = false;
  for (const name of new Set([...Object.keys(live), ...Object.keys(applied)])) {
    const [old, wanted] = [ownMember(live, name), ownMember(applied, name)];
    const value = mergeValues(old, wanted, memberSchema(schema, name));
    if (value === undefined) continue;
    setMember(merged, name, value);
    found = true;
  }
  return found ? merged : undefined;
}

/**
 * Items of the configuration come in its order. Those that only the live object has keep their
 * place before the next item that both have. Live items that share their keys give way to an
 * applied one, which then stands alone.
 */
function mergeLists(
  live: readonly unknown[],
  applied: readonly unknown[],
  list: ListSchema,
): readonly unknown[] {
  const liveElements = live.map((item) => elementOf(item, list));
  const appliedElements = applied.map((item) => elementOf(item, list));
  const liveItems = singles(live, liveElements);
  const wanted = new Map(appliedElements.map((element, i) => [element, applied[i]]));
  const shared = appliedElements.filter((element) => liveItems.has(element));

  const merged: unknown[] = [];
  const push = (old: unknown, now: unknown) => {
    const item = mergeValues(old, now, list.item);
    if (item !== undefined) merged.push(item);
  };
  const done = new Set<string>();
  let [at, next] = [0, 0];
  while (at < live.length || next < applied.length) {
    const element = liveElements[at];
    const due = appliedElements[next];
    if (element !== undefined && !wanted.has(element)) {
      push(live[at++], undefined);
      continue;
    }
    const othersTurn = shared.length > 0 && shared[0] !== element;
    if (element !== undefined && due !== undefined && element !== due && othersTurn) {
      at++; // it comes when the configuration has it
      continue;
    }
    if (element !== undefined && (element === due || done.has(element))) at++;
    if (due === undefined) continue;
    done.add(due);
    if (shared[0] === due) shared.shift();
    push(liveItems.get(due), wanted.get(due));
    next++;
  }
  return merged;
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
