/** rbac.authorization.k8s.io/v1 Role and ClusterRole: named sets of permissions. */

import { createdAtColumn, nameColumn } from "#api/columns.ts";
import type { ClusterRole, Role } from "#api/generated/rbac.v1.ts";
import { defineKind } from "#api/kind.ts";
import { builtInSchema } from "#api/schema/from-facts.ts";
import { type FieldError, invalid, required } from "#api/validation/field-error.ts";
import {
  validateFinalizers,
  validateKubeMeta,
  validateKubeMetaUpdate,
} from "#api/validation/kube-meta.ts";
import { selectorHasInvalidLabelValue, validateLabelSelector } from "#api/validation/labels.ts";
import { pathSegmentName } from "#api/validation/names.ts";
import { Path } from "#api/validation/path.ts";
import { validatePolicyRules } from "./policy-rule.ts";

export const roleKind = defineKind<Role>({
  group: "rbac.authorization.k8s.io",
  version: "v1",
  names: { kind: "Role", plural: "roles" },
  scope: "Namespaced",
  schema: builtInSchema("rbac.v1.Role"),
  nameRule: pathSegmentName,
  createOnUpdate: true,
  unconditionalUpdate: true,
  validate: ({ metadata, rules }) => [
    ...validateFinalizers(metadata),
    ...validatePolicyRules(rules, true),
  ],
  validateUpdate: (role, old) => [
    ...validateKubeMeta(role.metadata, { namespaced: true, nameRule: pathSegmentName }),
    ...validatePolicyRules(role.rules, true),
    ...validateKubeMetaUpdate(role, old),
  ],
  columns: [nameColumn, createdAtColumn],
});

export const clusterRoleKind = defineKind<ClusterRole>({
  group: "rbac.authorization.k8s.io",
  version: "v1",
  names: { kind: "ClusterRole", plural: "clusterroles" },
  scope: "Cluster",
  schema: builtInSchema("rbac.v1.ClusterRole"),
  nameRule: pathSegmentName,
  createOnUpdate: true,
  unconditionalUpdate: true,
  validate: (role) => [...validateFinalizers(role.metadata), ...validateClusterRole(role, false)],
  validateUpdate: (role, old) => [
    ...validateKubeMeta(role.metadata, { namespaced: false, nameRule: pathSegmentName }),
    ...validateClusterRole(role, selectorsOf(old).some(selectorHasInvalidLabelValue)),
    ...validateKubeMetaUpdate(role, old),
  ],
  columns: [nameColumn, createdAtColumn],
});

function validateClusterRole(role: ClusterRole, allowInvalidLabelValue: boolean): FieldError[] {
  const errors = validatePolicyRules(role.rules, false);
  if (role.aggregationRule === undefined) return errors;

  const path = Path.of("aggregationRule", "clusterRoleSelectors");
  if (selectorsOf(role).length === 0) {
    const detail = "at least one clusterRoleSelector required if aggregationRule is non-nil";
    errors.push(required(path, detail));
  }
  for (const [i, selector] of selectorsOf(role).entries()) {
    errors.push(...validateLabelSelector(selector, { allowInvalidLabelValue }, path.index(i)));
    if (validateLabelSelector(selector, {}, path).length > 0) {
      errors.push(invalid(path.index(i), null, "invalid label selector."));
    }
  }
  return errors;
}

function selectorsOf({ aggregationRule }: ClusterRole) {
  return aggregationRule?.clusterRoleSelectors ?? [];
}
