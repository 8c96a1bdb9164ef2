/** Tolerations of several sources put together. */
import { isDeepStrictEqual } from "node:util";
import type { Toleration } from "#api/generated/core.v1.ts";

/** Without those that another one covers. */
export function mergeTolerations(all: readonly Toleration[]): Toleration[] {
  const merged: Toleration[] = [];
  for (const [index, one] of all.entries()) {
    const before = merged.some((wide) => covers(wide, one));
    const after = all
      .slice(index + 1)
      .some((wide) => !isDeepStrictEqual(wide, one) && covers(wide, one));
    if (!before && !after) merged.push(one);
  }
  return merged;
}

/** Whether everything that `one` tolerates is tolerated by `wide`. */
export function covers(wide: Toleration, one: Toleration): boolean {
  if (isDeepStrictEqual(wide, one)) return true;
  const anyKey = !wide.key && wide.operator === "Exists";
  if (!anyKey && (one.key ?? "") !== (wide.key ?? "")) return false;
  if (wide.effect && one.effect !== wide.effect) return false;
  const limit = wide.effect === "NoExecute" ? wide.tolerationSeconds : undefined;
  if (limit !== undefined && !((one.tolerationSeconds ?? Number.POSITIVE_INFINITY) <= limit)) {
    return false;
  }
  if (wide.operator === "Exists") return true;
  return one.operator === "Equal" && (one.value ?? "") === (wide.value ?? "");
}
