/** How fast an autoscaler may go up and down. */
import type {
  HorizontalPodAutoscalerBehavior,
  HPAScalingPolicy,
  HPAScalingRules,
} from "#api/generated/autoscaling.v2.ts";
import { quantityOf, quantitySign } from "#api/meta/quantity.ts";
import { validateOneOf } from "#api/validation/faults.ts";
import { type FieldError, invalid, required } from "#api/validation/field-error.ts";
import type { Path } from "#api/validation/path.ts";

const PERIOD_SECONDS_MAX = 1800;
const WINDOW_SECONDS_MAX = 3600;
const SELECT_POLICIES = ["Disabled", "Max", "Min"];
const POLICY_TYPES = ["Percent", "Pods"];

export function validateBehavior(
  behavior: HorizontalPodAutoscalerBehavior | undefined,
  path: Path,
): FieldError[] {
  return (["scaleUp", "scaleDown"] as const).flatMap((direction) => {
    const rules = behavior?.[direction];
    return rules === undefined ? [] : validateRules(rules, path.child(direction));
  });
}

function validateRules(rules: HPAScalingRules, path: Path): FieldError[] {
  const { stabilizationWindowSeconds: window = 0, selectPolicy, policies = [], tolerance } = rules;
  const errors: FieldError[] = [];
  const windowPath = path.child("stabilizationWindowSeconds");
  if (window < 0) errors.push(invalid(windowPath, window, "must be greater than or equal to zero"));
  if (window > WINDOW_SECONDS_MAX) {
    const detail = `must be less than or equal to ${WINDOW_SECONDS_MAX}`;
    errors.push(invalid(windowPath, window, detail));
  }
  if (selectPolicy !== undefined) {
    errors.push(...validateOneOf(path.child("selectPolicy"), selectPolicy, SELECT_POLICIES));
  }
  if (policies.length === 0) {
    errors.push(required(path.child("policies"), "must specify at least one Policy"));
  }
  for (const [i, policy] of policies.entries()) {
    errors.push(...validatePolicy(policy, path.child("policies").index(i)));
  }
  if (tolerance !== undefined && quantitySign(quantityOf(tolerance)) < 0) {
    const detail = "must be greater than or equal to 0";
    errors.push(invalid(path.child("tolerance"), tolerance, detail));
  }
  return errors;
}

function validatePolicy({ type, value, periodSeconds }: HPAScalingPolicy, path: Path) {
  const errors = [...validateOneOf(path.child("type"), type, POLICY_TYPES)];
  if (value <= 0) errors.push(invalid(path.child("value"), value, "must be greater than zero"));
  const periodPath = path.child("periodSeconds");
  if (periodSeconds <= 0) {
    errors.push(invalid(periodPath, periodSeconds, "must be greater than zero"));
  }
  if (periodSeconds > PERIOD_SECONDS_MAX) {
    const detail = `must be less than or equal to ${PERIOD_SECONDS_MAX}`;
    errors.push(invalid(periodPath, periodSeconds, detail));
  }
  return errors;
}
