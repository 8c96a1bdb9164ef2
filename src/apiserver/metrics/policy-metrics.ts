/** Metrics of admission webhooks and policies, under upstream's names. */
import type { Metrics } from "#lib/metrics.ts";
import type { Operation } from "../admission/admission-request.ts";

const CHECK_SECONDS = [0.0000005, 0.001, 0.01, 0.1, 1];
const CONDITION_SECONDS = [0.001, 0.005, 0.01, 0.025, 0.1, 0.2, 0.25];
const CONDITION_LABELS = ["name", "kind", "type", "operation"];

export type ErrorType = "compile_error" | "invalid_error" | "out_of_budget" | "no_error";

/** Where match conditions are: of which webhook or policy, in which step. */
export interface ConditionPlace {
  readonly name: string;
  readonly kind: "webhook" | "policy";
  readonly type: "admit" | "validate";
  readonly operation: Operation;
}

export interface PolicyMetrics {
  /** A check of a ValidatingAdmissionPolicy that did not simply pass. */
  validatingCheck(
    policy: string,
    binding: string,
    error: ErrorType,
    action: "allow" | "deny" | "audit" | "warn",
    seconds: number,
  ): void;
  mutatingCheck(policy: string, binding: string, error: ErrorType, seconds: number): void;
  /** Match conditions were evaluated; `errorCount` of them failed. */
  conditions(place: ConditionPlace, seconds: number, errorCount: number): void;
  /** A webhook was left out because of its match conditions. */
  excluded(place: ConditionPlace): void;
}

export function createPolicyMetrics(metrics: Metrics): PolicyMetrics {
  const validating = checkMetrics(metrics, "validating", ["enforcement_action"]);
  const mutating = checkMetrics(metrics, "mutating", []);
  const times = metrics.histogram({
    name: "apiserver_admission_match_condition_evaluation_seconds",
    help: "Time that the evaluation of match conditions took.",
    labels: CONDITION_LABELS,
    buckets: CONDITION_SECONDS,
  });
  const errors = metrics.counter({
    name: "apiserver_admission_match_condition_evaluation_errors_total",
    help: "Match conditions that could not be evaluated.",
    labels: CONDITION_LABELS,
  });
  const exclusions = metrics.counter({
    name: "apiserver_admission_match_condition_exclusions_total",
    help: "Requests that match conditions excluded.",
    labels: CONDITION_LABELS,
  });
  const labelsOf = ({ name, kind, type, operation }: ConditionPlace) =>
    [name, kind, type, operation] as const;
  return {
    validatingCheck: (policy, binding, error, action, seconds) =>
      validating([policy, binding, error, action], seconds),
    mutatingCheck: (policy, binding, error, seconds) => mutating([policy, binding, error], seconds),
    conditions(place, seconds, errorCount) {
      times(...labelsOf(place)).observe(seconds);
      if (errorCount > 0) errors(...labelsOf(place)).add(errorCount);
    },
    excluded: (place) => exclusions(...labelsOf(place)).add(1),
  };
}

function checkMetrics(
  metrics: Metrics,
  type: "validating" | "mutating",
  more: readonly string[],
): (labels: readonly string[], seconds: number) => void {
  const labels = ["policy", "policy_binding", "error_type", ...more];
  const prefix = `apiserver_${type}_admission_policy_check`;
  const help = `Checks of ${type} admission policies`;
  const total = metrics.counter({ name: `${prefix}_total`, help: `${help}.`, labels });
  const times = metrics.histogram({
    name: `${prefix}_duration_seconds`,
    help: `${help}: the time that each took.`,
    labels,
    buckets: CHECK_SECONDS,
  });
  return (values, seconds) => {
    total(...values).add(1);
    times(...values).observe(seconds);
  };
}
