/** Rules of `metav1.Condition` lists. */
import type { Condition } from "#api/generated/meta.v1.ts";
import { utf8Length } from "#lib/text/utf8-length.ts";
import {
  duplicate,
  type FieldError,
  invalid,
  notSupported,
  required,
  tooLong,
} from "./field-error.ts";
import { regexFault } from "./formats.ts";
import { validateLabelName } from "./labels.ts";
import type { Path } from "./path.ts";

const STATUSES = ["False", "True", "Unknown"];
const REASON_MAX = 1024;
const MESSAGE_MAX = 32 * 1024;
const REASON_SOURCE = "[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?";
const REASON_REGEX = new RegExp(`^${REASON_SOURCE}$`);
const REASON_FAULT = regexFault(
  "a condition reason must start with alphabetic character, optionally followed by a string of alphanumeric characters or '_,:', and must end with an alphanumeric character or '_'",
  REASON_SOURCE,
  ["my_name", "MY_NAME", "MyName", "ReasonA,ReasonB", "ReasonA:ReasonB"],
);

export function validateConditions(
  conditions: readonly Condition[] | undefined,
  path: Path,
): FieldError[] {
  const errors: FieldError[] = [];
  const seen = new Set<string>();
  for (const [i, condition] of (conditions ?? []).entries()) {
    const at = path.index(i);
    if (seen.has(condition.type)) errors.push(duplicate(at.child("type"), condition.type));
    seen.add(condition.type);
    errors.push(...validateCondition(condition, at));
  }
  return errors;
}

function validateCondition(condition: Condition, path: Path): FieldError[] {
  const { type, status, reason, message, observedGeneration = 0, lastTransitionTime } = condition;
  const errors = validateLabelName(type, path.child("type"));
  if (!STATUSES.includes(status)) {
    errors.push(notSupported(path.child("status"), status, STATUSES));
  }
  if (observedGeneration < 0) {
    const at = path.child("observedGeneration");
    errors.push(invalid(at, observedGeneration, "must be greater than or equal to zero"));
  }
  if (!lastTransitionTime) errors.push(required(path.child("lastTransitionTime"), ""));
  if (reason === "") {
    errors.push(required(path.child("reason"), ""));
  } else {
    if (!REASON_REGEX.test(reason)) {
      errors.push(invalid(path.child("reason"), reason, REASON_FAULT));
    }
    if (utf8Length(reason) > REASON_MAX) errors.push(tooLong(path.child("reason"), REASON_MAX));
  }
  if (utf8Length(message) > MESSAGE_MAX) errors.push(tooLong(path.child("message"), MESSAGE_MAX));
  return errors;
}
