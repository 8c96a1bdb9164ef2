/** Whether two sets of labels are equal. */
import type { Labels } from "#api/meta/label-selector.ts";

export function sameLabels(a: Labels, b: Labels): boolean {
  if (a === b) return true;
  const keys = Object.keys(a);
  if (keys.length !== Object.keys(b).length) return false;
  return keys.every((key) => a[key] === b[key]);
}
