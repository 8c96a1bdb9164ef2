/** The versions of reviews that a webhook takes: of admission, and of conversion. */
import { type FieldError, invalid, required } from "./field-error.ts";
import { isDns1035Label } from "./names.ts";
import type { Path } from "./path.ts";

const KNOWN = ["v1", "v1beta1"];
export const KNOWN_REVIEW_VERSIONS = KNOWN.join(", ");

export interface ReviewVersionRules {
  /** What is said where there are none. */
  readonly absent: string;
  readonly mustKnowOne: boolean;
}

export function validateReviewVersions(
  versions: readonly string[],
  { absent, mustKnowOne }: ReviewVersionRules,
  path: Path,
): FieldError[] {
  if (versions.length === 0) return [required(path, absent)];
  const errors: FieldError[] = [];
  const seen = new Set<string>();
  for (const [i, version] of versions.entries()) {
    const faults = seen.has(version) ? ["duplicate version"] : isDns1035Label(version);
    errors.push(...faults.map((fault) => invalid(path.index(i), version, fault)));
    seen.add(version);
  }
  if (mustKnowOne && !knowsReviewVersion(versions)) {
    errors.push(invalid(path, versions, `must include at least one of ${KNOWN_REVIEW_VERSIONS}`));
  }
  return errors;
}

export function knowsReviewVersion(versions: readonly string[]): boolean {
  return versions.some((version) => KNOWN.includes(version));
}
