/** Rules that groups of pods and their templates share. */
import type {
  PodGroupSchedulingPolicy,
  PodGroupSpec,
  PodGroupTemplate,
} from "#api/generated/scheduling.v1alpha2.ts";
import type { Draft } from "#api/kind.ts";
import { type FieldError, invalid, required } from "#api/validation/field-error.ts";
import type { Path } from "#api/validation/path.ts";

/** Fields of features that are off: they stay only where they are already in use. */
const DISABLED_FIELDS = [
  "schedulingConstraints",
  "resourceClaims",
  "disruptionMode",
  "priorityClassName",
  "priority",
] as const;

type Group = PodGroupSpec | PodGroupTemplate;

export function dropDisabledFields(draft: Draft<Group>, old: Group | undefined): void {
  for (const field of DISABLED_FIELDS) {
    if (draft[field] === null || (old?.[field] ?? null) !== null) continue;
    delete (draft as Draft<Partial<PodGroupSpec>>)[field];
  }
}

/** A value that is declared immutable is not shown. */
export function immutable(path: Path): FieldError {
  return invalid(path, undefined, "field is immutable");
}

/** Pods are scheduled one by one, or only together with a number of others. */
export function validatePolicy(
  { basic, gang }: PodGroupSchedulingPolicy,
  path: Path,
): FieldError[] {
  const members = "`basic`, `gang`";
  if (basic === undefined && gang === undefined) {
    return [invalid(path, "", `must specify one of: ${members}`)];
  }
  const errors: FieldError[] = [];
  if (basic !== undefined && gang !== undefined) {
    errors.push(invalid(path, "{basic, gang}", `must specify exactly one of: ${members}`));
  }
  if (gang === undefined) return errors;
  const at = path.child("gang", "minCount");
  if (gang.minCount === 0) errors.push(required(at, ""));
  else if (gang.minCount < 0) {
    errors.push(invalid(at, gang.minCount, "must be greater than or equal to 1"));
  }
  return errors;
}

/** A text that must be there and pass a rule. */
export function validateName(
  text: string,
  rule: (text: string) => readonly string[],
  path: Path,
): FieldError[] {
  if (text === "") return [required(path, "")];
  return rule(text).map((fault) => invalid(path, text, fault));
}
