/**
 * Field ownership after a create, an update or a patch that is no apply: who writes a field owns it,
 * everyone else loses it. Runs on every write.
 *
 * Promises:
 * 1. It never fails: an object with lists whose items have no unique keys ends up without managedFields.
 * 2. Objects are not changed; the result shares the entries of managers whose fields did not change
 *    with the old list, and is the old list if nothing changed.
 * 3. The writer's time changes only if the write changed something.
 */
import { isObject, type JsonObject } from "#api/patch/json-value.ts";
import type { StructSchema } from "#api/schema/schema.ts";
import { emptyObject } from "./empty-object.ts";
import { difference, isEmptySet, union } from "./field-set.ts";
import type { LargeNodes } from "./large-nodes.ts";
import { managedFieldsOf, metadataOf, withManagedFields } from "./managed-object.ts";
import {
  capUpdaters,
  decodeManagers,
  encodeManagers,
  isSameManager,
  type Manager,
  withFields,
} from "./managers.ts";
import { reconcileManagers, takeOver, withoutLost, withoutSystemFields } from "./ownership.ts";
import { ItemError } from "./typed-values.ts";
import { Changes, type FieldFilter, type VersionSeam, Versions } from "./versions.ts";

export interface UpdateInput {
  readonly schema: StructSchema;
  /** What is there, in normal form; undefined on a create. */
  readonly live: JsonObject | undefined;
  /** What will be there, in normal form, before the kind's prepare hooks have seen it. */
  readonly next: JsonObject;
  /** `unknown` if empty. */
  readonly manager: string;
  readonly apiVersion: string;
  readonly subresource: string;
  /** RFC 3339, whole seconds. */
  readonly nowIso: string;
  readonly filter?: FieldFilter | undefined;
  readonly versions?: VersionSeam | undefined;
  /** Of `next`. */
  readonly nodes?: LargeNodes | undefined;
}

/** The managedFields that `next` is to have; undefined for none. */
export function managedFieldsAfter(input: UpdateInput): readonly JsonObject[] | undefined {
  try {
    const managers = managersAfter(input);
    return managers && encodeManagers(managers, managedFieldsOf(input.live));
  } catch (error) {
    if (error instanceof ItemError) return undefined;
    throw error;
  }
}

/** Undefined if the object's fields are not managed. */
function managersAfter(input: UpdateInput): readonly Manager[] | undefined {
  const { schema, live, next, apiVersion, subresource, nowIso } = input;
  const managers = managersBefore(input);
  // An object whose managers were reset stays without them until it is applied.
  if (managers.length === 0 && metadataOf(live).uid !== undefined) return undefined;

  const versions = new Versions(apiVersion, schema, input.versions);
  const before = withManagedFields(live ?? emptyObject(schema), undefined);
  const after = withManagedFields(next, undefined);
  const changes = new Changes(versions, before, after, input.filter, input.nodes);
  const { changed, removed } = changes.at(apiVersion)!;
  const known = reconcileManagers(managers, versions);
  const fields = withoutSystemFields(changed);
  if (isEmptySet(fields)) {
    const quiet = isEmptySet(changed) && isEmptySet(removed);
    return capUpdaters(quiet && isAllOf(known, apiVersion) ? known : withoutLost(known, changes));
  }
  const name = input.manager === "" ? "unknown" : input.manager;
  const writer: Manager = {
    name,
    operation: "Update",
    apiVersion,
    subresource,
    time: nowIso,
    fields,
  };
  // What the writer would lose and get back stays: a set that does not change costs nothing.
  const own = known.find((manager) => isSameManager(manager, writer));
  if (own === undefined) return capUpdaters([...withoutLost(known, changes), writer]);
  const lost = union(difference(changed, fields), removed);
  const kept = withFields(own, difference(own.fields, lost));
  return capUpdaters(takeOver(withoutLost(without(known, own), changes), writer, kept));
}

/** Those that the request states, if it may state any and they can be read; else the live ones. */
function managersBefore({ live, next, subresource }: UpdateInput): readonly Manager[] {
  const said = managedFieldsOf(next);
  if (subresource === "" && said !== managedFieldsOf(live)) {
    if (isReset(said)) return [];
    const decoded = decodeManagers(said);
    if (decoded.ok && decoded.value.length > 0) return decoded.value;
  }
  const decoded = decodeManagers(managedFieldsOf(live));
  return decoded.ok ? decoded.value : [];
}

/** `[]` and `[{}]` ask to forget all managers. */
function isReset(managedFields: unknown): boolean {
  if (!Array.isArray(managedFields)) return false;
  if (managedFields.length === 0) return true;
  const [entry] = managedFields;
  return managedFields.length === 1 && isObject(entry) && Object.keys(entry).length === 0;
}

function without(managers: readonly Manager[], one: Manager): readonly Manager[] {
  return managers.filter((manager) => manager !== one);
}

function isAllOf(managers: readonly Manager[], apiVersion: string): boolean {
  return managers.every((manager) => manager.apiVersion === apiVersion);
}
