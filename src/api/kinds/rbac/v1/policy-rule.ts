/** What a rule of a Role or ClusterRole must name: verbs, and either resources or URLs. */
import type { PolicyRule } from "#api/generated/rbac.v1.ts";
import { type FieldError, invalid, required } from "#api/validation/field-error.ts";
import { Path } from "#api/validation/path.ts";

export function validatePolicyRules(
  rules: readonly PolicyRule[] | null,
  namespaced: boolean,
): FieldError[] {
  const at = Path.of("rules");
  return (rules ?? []).flatMap((rule, i) => validatePolicyRule(rule, namespaced, at.index(i)));
}

function validatePolicyRule(rule: PolicyRule, namespaced: boolean, path: Path): FieldError[] {
  const errors: FieldError[] = [];
  const { apiGroups = [], resources = [], resourceNames = [], nonResourceURLs = [] } = rule;
  if ((rule.verbs ?? []).length === 0) {
    errors.push(required(path.child("verbs"), "verbs must contain at least one value"));
  }
  if (nonResourceURLs.length > 0) {
    const at = path.child("nonResourceURLs");
    if (namespaced) {
      errors.push(
        invalid(at, nonResourceURLs, "namespaced rules cannot apply to non-resource URLs"),
      );
    }
    if (apiGroups.length + resources.length + resourceNames.length > 0) {
      errors.push(
        invalid(
          at,
          nonResourceURLs,
          "rules cannot apply to both regular resources and non-resource URLs",
        ),
      );
    }
    return errors;
  }
  if (apiGroups.length === 0) {
    errors.push(
      required(path.child("apiGroups"), "resource rules must supply at least one api group"),
    );
  }
  if (resources.length === 0) {
    errors.push(
      required(path.child("resources"), "resource rules must supply at least one resource"),
    );
  }
  return errors;
}
