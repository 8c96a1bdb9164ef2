/**
 * The managers of an object: metadata.managedFields, decoded. A manager is identified by its name,
 * operation and subresource, and for Update also by its version.
 */
import { goQuote } from "#api/meta/go-quote.ts";
import { isObject, type JsonObject } from "#api/patch/json-value.ts";
import { messageOf } from "#lib/caught.ts";
import { decodeFieldSet, encodeFieldSet, type FieldSet, unionAll } from "./field-set.ts";

export interface Manager {
  readonly name: string;
  readonly operation: "Apply" | "Update";
  readonly apiVersion: string;
  readonly subresource: string;
  /** RFC 3339; absent for one that has only ever agreed with what was there. */
  readonly time: string | undefined;
  readonly fields: FieldSet;
  /** The entry that says the same, if there is one already. */
  readonly entry?: JsonObject | undefined;
}

export type DecodedManagers =
  | { readonly ok: true; readonly value: readonly Manager[] }
  | { readonly ok: false; readonly error: string };

/** Every write looks at every manager. */
const MANAGERS_MAX = 1_000;
const UPDATERS_MAX = 10;
const OLD_UPDATES = "ancient-changes";

export function decodeManagers(managedFields: unknown): DecodedManagers {
  const managers: Manager[] = [];
  const entries = Array.isArray(managedFields) ? managedFields : [];
  if (entries.length > MANAGERS_MAX) {
    return { ok: false, error: `must have at most ${MANAGERS_MAX} managed fields entries` };
  }
  for (const [i, entry] of entries.entries()) {
    const decoded = decodeEntry(entry, i);
    if (typeof decoded === "string") return { ok: false, error: decoded };
    const same = managers.findIndex((manager) => isSameManager(manager, decoded));
    if (same >= 0) managers[same] = decoded;
    else managers.push(decoded);
  }
  return { ok: true, value: managers };
}

/** Entries in their order: the old list if it is equal; undefined if there are no managers. */
export function encodeManagers(
  managers: readonly Manager[],
  before: unknown,
): readonly JsonObject[] | undefined {
  if (managers.length === 0) return undefined;
  const sorted = managers.length > 1 ? managers.toSorted(compareManagers) : managers;
  const entries = sorted.map(encodeManager);
  const same =
    Array.isArray(before) &&
    before.length === entries.length &&
    entries.every((entry, i) => entry === before[i]);
  return same ? before : entries;
}

export function isSameManager(a: Manager, b: Manager): boolean {
  return (
    a.name === b.name &&
    a.operation === b.operation &&
    a.subresource === b.subresource &&
    (a.operation === "Apply" || a.apiVersion === b.apiVersion)
  );
}

/** The same manager with other fields. */
export function withFields(manager: Manager, fields: FieldSet): Manager {
  return fields === manager.fields ? manager : { ...manager, fields, entry: undefined };
}

/** Names the manager uniquely; sorts as the real server sorts them. */
export function managerId({ name, operation, apiVersion, subresource }: Manager): string {
  return JSON.stringify({
    ...(name === "" ? {} : { manager: name }),
    operation,
    ...(operation === "Apply" ? {} : { apiVersion }),
    ...(subresource === "" ? {} : { subresource }),
  });
}

/** Puts the oldest updaters together, one per version, until no more than ten are left. */
export function capUpdaters(managers: readonly Manager[]): readonly Manager[] {
  const updates = managers.filter(({ operation }) => operation === "Update");
  let surplus = updates.length - UPDATERS_MAX;
  if (surplus <= 0) return managers;
  const updaters = oldestFirst(updates);

  const kept = new Set(managers);
  const firsts = new Map<string, Manager>();
  const buckets = new Map<string, Bucket>();
  for (const updater of updaters) {
    if (surplus <= 0) break;
    const first = firsts.get(updater.apiVersion);
    if (first === undefined) {
      firsts.set(updater.apiVersion, updater);
      continue;
    }
    let bucket = buckets.get(updater.apiVersion);
    if (bucket === undefined) {
      const manager = { ...first, name: OLD_UPDATES, subresource: "" };
      const old = managers.find((other) => isSameManager(other, manager)) ?? first;
      if (old === updater) continue;
      bucket = { manager, time: updater.time, parts: [old.fields] };
      buckets.set(updater.apiVersion, bucket);
      kept.delete(old);
    }
    kept.delete(updater);
    bucket.parts.push(updater.fields);
    bucket.time = updater.time;
    surplus--;
  }
  for (const { manager, time, parts } of buckets.values()) {
    kept.add({ ...manager, time, fields: unionAll(parts), entry: undefined });
  }
  return [...kept];
}

/** The ids are made once, since there may be a thousand managers. */
function oldestFirst(managers: readonly Manager[]): readonly Manager[] {
  return managers
    .map((manager) => ({ manager, id: managerId(manager) }))
    .sort((a, b) => compareTimes(a.manager, b.manager) || compareTexts(a.id, b.id))
    .map(({ manager }) => manager);
}

/** Old updaters of one version that become one manager. */
interface Bucket {
  readonly manager: Manager;
  readonly parts: FieldSet[];
  time: string | undefined;
}

function decodeEntry(entry: unknown, index: number): Manager | string {
  if (!isObject(entry)) return `managed fields entry ${index} must be an object`;
  const { manager, operation, apiVersion, time, fieldsType, fieldsV1, subresource } = entry;
  if (operation !== "Apply" && operation !== "Update") {
    return "operation must be `Apply` or `Update`";
  }
  if (typeof apiVersion !== "string" || apiVersion === "") return "apiVersion must not be empty";
  if (fieldsType === undefined || fieldsType === "") {
    return `missing fieldsType in managed fields entry ${index}`;
  }
  if (fieldsType !== "FieldsV1") {
    return `invalid fieldsType ${goQuote(String(fieldsType))} in managed fields entry ${index}`;
  }
  try {
    const fields = decodeFieldSet(fieldsV1);
    return {
      name: typeof manager === "string" ? manager : "",
      operation,
      apiVersion,
      subresource: typeof subresource === "string" ? subresource : "",
      time: typeof time === "string" ? time : undefined,
      fields,
      entry: fields === fieldsV1 ? entry : undefined,
    };
  } catch (error) {
    return `error decoding set: ${messageOf(error)}`;
  }
}

function encodeManager(manager: Manager): JsonObject {
  const { name, operation, apiVersion, subresource, time, fields } = manager;
  if (manager.entry !== undefined) return manager.entry;
  const entry: Record<string, unknown> = {};
  if (name !== "") entry.manager = name;
  entry.operation = operation;
  entry.apiVersion = apiVersion;
  if (time !== undefined) entry.time = time;
  entry.fieldsType = "FieldsV1";
  entry.fieldsV1 = encodeFieldSet(fields);
  if (subresource !== "") entry.subresource = subresource;
  return entry;
}

function compareManagers(a: Manager, b: Manager): number {
  if (a.operation !== b.operation) return a.operation < b.operation ? -1 : 1;
  return (
    compareTimes(a, b) ||
    compareTexts(a.name, b.name) ||
    compareTexts(a.apiVersion, b.apiVersion) ||
    compareTexts(a.subresource, b.subresource)
  );
}

/** Times are mostly written alike, and then sort like their texts. */
function compareTimes(a: Manager, b: Manager): number {
  if (a.time === b.time) return 0;
  if (isPlainTime(a.time) && isPlainTime(b.time)) return a.time < b.time ? -1 : 1;
  return secondsOf(a) - secondsOf(b);
}

/** `2030-01-01T00:00:00Z` */
function isPlainTime(time: string | undefined): time is string {
  return time !== undefined && time.length === 20 && time.endsWith("Z");
}

function secondsOf({ time }: Manager): number {
  return time === undefined ? 0 : Math.floor(Date.parse(time) / 1000);
}

function compareTexts(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
