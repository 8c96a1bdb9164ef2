/** How evenly pods are to be spread over zones, nodes or whatever a topology key names. */
import type { TopologySpreadConstraint } from "#api/generated/core.v1.ts";
import {
  duplicate,
  type FieldError,
  invalid,
  notSupported,
  required,
} from "#api/validation/field-error.ts";
import { validateLabelSelector } from "#api/validation/labels.ts";
import type { Path } from "#api/validation/path.ts";
import type { PodRules } from "../rules.ts";
import { validateMatchLabelKeys, validateUnmergedKeys } from "./match-label-keys.ts";

const ACTIONS = ["DoNotSchedule", "ScheduleAnyway"];
const NODE_POLICIES = ["Honor", "Ignore"];
const NOT_POSITIVE = "must be greater than zero";

export function validateTopologySpread(
  constraints: readonly TopologySpreadConstraint[],
  rules: PodRules,
  path: Path,
  errors: FieldError[],
): void {
  for (const [i, constraint] of constraints.entries()) {
    const at = path.index(i);
    validateConstraint(constraint, at, errors);
    const { topologyKey, whenUnsatisfiable } = constraint;
    const repeated = constraints
      .slice(i + 1)
      .some((o) => o.topologyKey === topologyKey && o.whenUnsatisfiable === whenUnsatisfiable);
    if (repeated) {
      const pair = at.child("{topologyKey, whenUnsatisfiable}");
      errors.push(duplicate(pair, `{${topologyKey}, ${whenUnsatisfiable}}`));
    }
    validateMinDomains(constraint, at.child("minDomains"), errors);
    for (const field of ["nodeAffinityPolicy", "nodeTaintsPolicy"] as const) {
      const policy = constraint[field];
      if (policy === undefined || NODE_POLICIES.includes(policy)) continue;
      errors.push(notSupported(at.child(field), policy, NODE_POLICIES));
    }
    errors.push(
      ...(rules.allowLegacySpreadKeys
        ? validateUnmergedKeys(constraint, at.child("matchLabelKeys"))
        : validateMatchLabelKeys(constraint, at)),
    );
    if (!rules.allowInvalidSpreadSelector) {
      const selectorPath = at.child("labelSelector");
      errors.push(...validateLabelSelector(constraint.labelSelector, {}, selectorPath));
    }
  }
}

function validateConstraint(
  { maxSkew, topologyKey, whenUnsatisfiable }: TopologySpreadConstraint,
  path: Path,
  errors: FieldError[],
): void {
  if (maxSkew <= 0) errors.push(invalid(path.child("maxSkew"), maxSkew, NOT_POSITIVE));
  if (topologyKey === "") errors.push(required(path.child("topologyKey"), "can not be empty"));
  if (!ACTIONS.includes(whenUnsatisfiable)) {
    errors.push(notSupported(path.child("whenUnsatisfiable"), whenUnsatisfiable, ACTIONS));
  }
}

function validateMinDomains(
  { minDomains, whenUnsatisfiable }: TopologySpreadConstraint,
  path: Path,
  errors: FieldError[],
): void {
  if (minDomains === undefined) return;
  if (minDomains <= 0) errors.push(invalid(path, minDomains, NOT_POSITIVE));
  if (whenUnsatisfiable === "DoNotSchedule") return;
  const detail = `can only use minDomains if whenUnsatisfiable=DoNotSchedule, not ${whenUnsatisfiable}`;
  errors.push(invalid(path, minDomains, detail));
}
