/**
 * A write that changes nothing but the times of managers changes nothing: the object keeps the old
 * times, so that it need not be stored.
 */
import { isObject, type JsonObject, jsonEqual } from "#api/patch/json-value.ts";
import { managedFieldsOf, withManagedFields } from "./managed-object.ts";

export function keepTimes<T extends JsonObject>(next: T, old: JsonObject): T {
  const entries = managedFieldsOf(next);
  const oldEntries = managedFieldsOf(old);
  if (!Array.isArray(entries) || !Array.isArray(oldEntries)) return next;
  if (entries === oldEntries || entries.length !== oldEntries.length) return next;
  if (entries.every((entry, i) => timeOf(entry) === timeOf(oldEntries[i]))) return next;
  // Most writes change something beside metadata: that is seen without a copy.
  for (const name in next) {
    if (name !== "metadata" && !jsonEqual(next[name], old[name])) return next;
  }
  const same = entries.every((entry, i) => jsonEqual(timeless(entry), timeless(oldEntries[i])));
  if (!same) return next;
  const bare = (object: JsonObject) => withManagedFields(object, undefined);
  return jsonEqual(bare(next), bare(old)) ? (withManagedFields(next, oldEntries) as T) : next;
}

function timeOf(entry: unknown): unknown {
  return isObject(entry) ? entry.time : undefined;
}

function timeless(entry: unknown): unknown {
  if (!isObject(entry)) return entry;
  const { time: _, ...rest } = entry;
  return rest;
}
