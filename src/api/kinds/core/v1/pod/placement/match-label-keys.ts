/**
 * matchLabelKeys: keys whose values a pod takes from its own labels. When the pod is created they
 * are merged into the label selector beside them (see prepare.ts), so that a key which the selector
 * names twice was given by the user as well.
 */
import type { LabelSelector } from "#api/generated/meta.v1.ts";
import { type FieldError, forbidden, invalid } from "#api/validation/field-error.ts";
import { validateLabelName } from "#api/validation/labels.ts";
import type { Path } from "#api/validation/path.ts";

export interface LabelKeys {
  readonly labelSelector?: LabelSelector;
  readonly matchLabelKeys?: readonly string[];
  readonly mismatchLabelKeys?: readonly string[];
}

const IN_BOTH = "exists in both matchLabelKeys and labelSelector";
const NO_SELECTOR = "must not be specified when labelSelector is not set";

export function validateMatchLabelKeys(keys: LabelKeys, path: Path): FieldError[] {
  const { labelSelector, matchLabelKeys = [], mismatchLabelKeys = [] } = keys;
  if (matchLabelKeys.length === 0 && mismatchLabelKeys.length === 0) return [];
  const errors = [
    ...validateKeys(matchLabelKeys, labelSelector, path.child("matchLabelKeys")),
    ...validateKeys(mismatchLabelKeys, labelSelector, path.child("mismatchLabelKeys")),
  ];
  const seen = new Set(Object.keys(labelSelector?.matchLabels ?? {}));
  for (const { key } of labelSelector?.matchExpressions ?? []) {
    const i = matchLabelKeys.lastIndexOf(key);
    if (i >= 0 && seen.has(key)) errors.push(invalid(path.index(i), key, IN_BOTH));
    seen.add(key);
  }
  for (const [i, key] of matchLabelKeys.entries()) {
    if (!mismatchLabelKeys.includes(key)) continue;
    const at = path.child("matchLabelKeys").index(i);
    errors.push(invalid(at, key, "exists in both matchLabelKeys and mismatchLabelKeys"));
  }
  return errors;
}

/** The rule of servers that did not merge the keys; for pods that they made. */
export function validateUnmergedKeys(keys: LabelKeys, path: Path): FieldError[] {
  const { labelSelector, matchLabelKeys = [] } = keys;
  if (matchLabelKeys.length === 0) return [];
  const errors: FieldError[] = [];
  if (labelSelector === undefined) errors.push(forbidden(path, NO_SELECTOR));
  const selected = new Set([
    ...Object.keys(labelSelector?.matchLabels ?? {}),
    ...(labelSelector?.matchExpressions ?? []).map(({ key }) => key),
  ]);
  for (const [i, key] of matchLabelKeys.entries()) {
    errors.push(...validateLabelName(key, path.index(i)));
    if (selected.has(key)) errors.push(invalid(path.index(i), key, IN_BOTH));
  }
  return errors;
}

function validateKeys(
  keys: readonly string[],
  selector: LabelSelector | undefined,
  path: Path,
): FieldError[] {
  if (keys.length === 0) return [];
  if (selector === undefined) return [forbidden(path, NO_SELECTOR)];
  return keys.flatMap((key, i) => validateLabelName(key, path.index(i)));
}
