/** When a container is started again, and what a change of its resources does to it. */
import type { ContainerRestartRule, PodSpec } from "#api/generated/core.v1.ts";
import {
  duplicate,
  type FieldError,
  invalid,
  notSupported,
  required,
  tooMany,
} from "#api/validation/field-error.ts";
import type { Path } from "#api/validation/path.ts";
import type { AnyContainer } from "./containers.ts";

const POLICIES = ["Always", "Never", "OnFailure"];
const ACTIONS = ["Restart", "RestartAllContainers"];
const OPERATORS = ["In", "NotIn"];
const RULES_MAX = 20;
const EXIT_CODES_MAX = 255;
const RESIZABLE = ["cpu", "memory"];
const RESIZE_POLICIES = ["NotRequired", "RestartContainer"];

export function validateRestartPolicy(
  { restartPolicy, restartPolicyRules = [] }: AnyContainer,
  path: Path,
  errors: FieldError[],
): void {
  const at = path.child("restartPolicy");
  if (restartPolicy === undefined) {
    if (restartPolicyRules.length === 0) return;
    errors.push(required(at, "must specify restartPolicy when restart rules are used"));
  } else if (!POLICIES.includes(restartPolicy)) {
    errors.push(notSupported(at, restartPolicy, POLICIES));
  }
  const rulesPath = path.child("restartPolicyRules");
  if (restartPolicyRules.length > RULES_MAX) {
    errors.push(tooMany(rulesPath, restartPolicyRules.length, RULES_MAX));
  }
  for (const [i, rule] of restartPolicyRules.entries()) {
    validateRule(rule, rulesPath.index(i), errors);
  }
}

/** An init container without a policy gets the same answer for rules, and only that. */
export function validateInitRestartPolicy(
  container: AnyContainer,
  path: Path,
  errors: FieldError[],
): void {
  if (container.restartPolicy !== undefined) validateRestartPolicy(container, path, errors);
  else if ((container.restartPolicyRules ?? []).length > 0) {
    const detail = "must specify restartPolicy when restart rules are used";
    errors.push(required(path.child("restartPolicy"), detail));
  }
}

export function validateResizePolicy(
  policies: NonNullable<AnyContainer["resizePolicy"]>,
  { restartPolicy: podRestartPolicy }: PodSpec,
  path: Path,
  errors: FieldError[],
): void {
  const seen = new Set<string>();
  for (const [i, { resourceName, restartPolicy }] of policies.entries()) {
    if (seen.has(resourceName)) errors.push(duplicate(path.index(i), resourceName));
    seen.add(resourceName);
    validateOneOf(resourceName, RESIZABLE, path, errors);
    validateOneOf(restartPolicy, RESIZE_POLICIES, path, errors);
    if (podRestartPolicy === "Never" && restartPolicy !== "NotRequired") {
      const detail = "must be 'NotRequired' when pod `restartPolicy` is 'Never'";
      errors.push(invalid(path, restartPolicy, detail));
    }
  }
}

function validateRule(
  { action = "", exitCodes }: ContainerRestartRule,
  path: Path,
  errors: FieldError[],
): void {
  if (!ACTIONS.includes(action)) errors.push(notSupported(path.child("action"), action, ACTIONS));
  const at = path.child("exitCodes");
  if (exitCodes === undefined) {
    errors.push(required(at, "must be specified"));
    return;
  }
  const { operator = "", values = [] } = exitCodes;
  if (!OPERATORS.includes(operator)) {
    errors.push(notSupported(at.child("operator"), operator, OPERATORS));
  }
  if (values.length > EXIT_CODES_MAX) {
    errors.push(tooMany(at.child("values"), values.length, EXIT_CODES_MAX));
  }
}

function validateOneOf(
  value: string,
  supported: readonly string[],
  path: Path,
  errors: FieldError[],
): void {
  if (value === "") errors.push(required(path, ""));
  else if (!supported.includes(value)) errors.push(notSupported(path, value, supported));
}
