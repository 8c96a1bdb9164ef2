/** The strategic merge patch that turns one pod status into another. */
import type { PodStatus } from "#api/generated/core.v1.ts";

/** Lists that the API merges by key; they are replaced as a whole here. */
const MERGED_LISTS = new Set(["podIPs", "hostIPs", "resourceClaimStatuses"]);
/** Written by others: left alone. */
export const FOREIGN_STATUS: ReadonlySet<string> = new Set([
  "nominatedNodeName",
  "resourceClaimStatuses",
  "extendedResourceClaimStatus",
]);

/** Undefined if nothing changed. */
export function statusPatch(
  old: PodStatus,
  next: PodStatus,
): Readonly<Record<string, unknown>> | undefined {
  const before = old as Readonly<Record<string, unknown>>;
  const after = next as Readonly<Record<string, unknown>>;
  const patch: Record<string, unknown> = {};
  for (const name of new Set([...Object.keys(before), ...Object.keys(after)])) {
    if (FOREIGN_STATUS.has(name) || isEqual(before[name], after[name])) continue;
    const value = after[name];
    if (value === undefined) patch[name] = null;
    else if (name === "conditions") {
      const conditions = conditionsPatch(old, next);
      if (conditions.length > 0) patch[name] = conditions; // else they are in another order only
    } else if (MERGED_LISTS.has(name) && before[name] !== undefined) {
      patch[name] = [...(value as unknown[]), { $patch: "replace" }];
    } else patch[name] = value;
  }
  return Object.keys(patch).length === 0 ? undefined : patch;
}

/** Conditions are merged by type: only those that changed are sent. */
function conditionsPatch(
  { conditions: old = [] }: PodStatus,
  { conditions: next = [] }: PodStatus,
): unknown[] {
  const before = new Map(old.map((condition) => [condition.type, condition]));
  const changed = next
    .filter((condition) => !isEqual(before.get(condition.type), condition))
    .map((condition) => {
      const was = before.get(condition.type);
      const gone = Object.keys(was ?? {}).filter((name) => !Object.hasOwn(condition, name));
      return { ...condition, ...Object.fromEntries(gone.map((name) => [name, null])) };
    });
  const types = new Set(next.map(({ type }) => type));
  const removed = old.filter(({ type }) => !types.has(type));
  return [...changed, ...removed.map(({ type }) => ({ $patch: "delete", type }))];
}

export function isEqual(a: unknown, b: unknown): boolean {
  if ((a ?? null) === (b ?? null)) return true; // `lastProbeTime: null`
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  const one = a as Readonly<Record<string, unknown>>;
  const other = b as Readonly<Record<string, unknown>>;
  for (const name of Object.keys(one)) if (!isEqual(one[name], other[name])) return false;
  for (const name of Object.keys(other)) {
    if (!Object.hasOwn(one, name) && !isEqual(undefined, other[name])) return false;
  }
  return true;
}
