/** Who owns what after a write: the step that updates and applies have in common. */
import {
  difference,
  type FieldSet,
  fieldSet,
  intersection,
  isEmptySet,
  union,
} from "./field-set.ts";
import { type Manager, withFields } from "./managers.ts";
import { reconciled } from "./schema-sets.ts";
import type { Changes, Versions } from "./versions.ts";

/** Fields of another manager that a write changed. */
export interface Conflict {
  readonly manager: Manager;
  readonly fields: FieldSet;
}

/** Brings old sets in line with today's schema; managers of versions no longer served are dropped. */
export function reconcileManagers(
  managers: readonly Manager[],
  versions: Versions,
): readonly Manager[] {
  const known: Manager[] = [];
  for (const manager of managers) {
    const schema = versions.schema(manager.apiVersion);
    if (schema !== undefined) known.push(withFields(manager, reconciled(manager.fields, schema)));
  }
  return known;
}

/** What others own of that which was changed. */
export function findConflicts(managers: readonly Manager[], changes: Changes): readonly Conflict[] {
  return managers.flatMap((manager) => {
    const comparison = changes.at(manager.apiVersion);
    if (comparison === undefined) return [];
    const fields = intersection(manager.fields, comparison.changed);
    return isEmptySet(fields) ? [] : [{ manager, fields }];
  });
}

/** The managers without what a write took from them. Who owns nothing any more is gone. */
export function withoutLost(managers: readonly Manager[], changes: Changes): readonly Manager[] {
  const left: Manager[] = [];
  for (const manager of managers) {
    const comparison = changes.at(manager.apiVersion);
    if (comparison === undefined) continue;
    const { changed, removed } = comparison;
    const fields = difference(difference(manager.fields, changed), removed);
    if (!isEmptySet(fields)) left.push(withFields(manager, fields));
  }
  return left;
}

/** Removes fields that the server sets and that have no owner. */
export function withoutSystemFields(fields: FieldSet): FieldSet {
  return difference(fields, SYSTEM_FIELDS);
}

/** A manager's fields with more; as a manager that changed something now. */
export function takeOver(
  others: readonly Manager[],
  taker: Manager,
  previous: Manager | undefined,
): readonly Manager[] {
  const fields = previous === undefined ? taker.fields : union(previous.fields, taker.fields);
  return [...others, { ...taker, fields }];
}

const SYSTEM_FIELDS = fieldSet(
  ["apiVersion"],
  ["kind"],
  ["metadata"],
  ...[
    "name",
    "namespace",
    "creationTimestamp",
    "selfLink",
    "uid",
    "clusterName",
    "generation",
    "managedFields",
    "resourceVersion",
  ].map((name) => ["metadata", name]),
);
