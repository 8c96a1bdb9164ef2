/** rbac.authorization.k8s.io/v1 RoleBinding and ClusterRoleBinding: who has a role. */

import { ageColumn, nameColumn } from "#api/columns.ts";
import type { ClusterRoleBinding, RoleBinding, RoleRef, Subject } from "#api/generated/rbac.v1.ts";
import { type Column, type Draft, defineKind } from "#api/kind.ts";
import { builtInSchema } from "#api/schema/from-facts.ts";
import { type FieldError, invalid, notSupported, required } from "#api/validation/field-error.ts";
import { semanticEqual } from "#api/validation/immutable.ts";
import { internalForm } from "#api/validation/internal-form.ts";
import {
  validateFinalizers,
  validateKubeMeta,
  validateKubeMetaUpdate,
} from "#api/validation/kube-meta.ts";
import { isDns1123Subdomain, isPathSegmentName, pathSegmentName } from "#api/validation/names.ts";
import { Path } from "#api/validation/path.ts";

const GROUP = "rbac.authorization.k8s.io";

type Binding = RoleBinding | ClusterRoleBinding;

export const roleBindingKind = defineKind<RoleBinding>({
  group: GROUP,
  version: "v1",
  names: { kind: "RoleBinding", plural: "rolebindings" },
  scope: "Namespaced",
  schema: builtInSchema("rbac.v1.RoleBinding"),
  nameRule: pathSegmentName,
  createOnUpdate: true,
  unconditionalUpdate: true,
  defaults: setDefaults,
  validate: (binding) => validateNew(binding, true),
  validateUpdate: (binding, old) => validateChange(binding, old, true),
  columns: columnsOf("RoleBinding"),
});

export const clusterRoleBindingKind = defineKind<ClusterRoleBinding>({
  group: GROUP,
  version: "v1",
  names: { kind: "ClusterRoleBinding", plural: "clusterrolebindings" },
  scope: "Cluster",
  schema: builtInSchema("rbac.v1.ClusterRoleBinding"),
  nameRule: pathSegmentName,
  createOnUpdate: true,
  unconditionalUpdate: true,
  defaults: setDefaults,
  validate: (binding) => validateNew(binding, false),
  validateUpdate: (binding, old) => validateChange(binding, old, false),
  columns: columnsOf("ClusterRoleBinding"),
});

function setDefaults(draft: Draft<Binding>): void {
  draft.roleRef.apiGroup ||= GROUP;
  for (const subject of draft.subjects ?? []) {
    if (subject.kind === "User" || subject.kind === "Group") subject.apiGroup ||= GROUP;
  }
}

function validateNew(binding: Binding, namespaced: boolean): FieldError[] {
  return [...validateFinalizers(binding.metadata), ...validateBinding(binding, namespaced)];
}

function validateChange(binding: Binding, old: Binding, namespaced: boolean): FieldError[] {
  return [
    ...validateKubeMeta(binding.metadata, { namespaced, nameRule: pathSegmentName }),
    ...validateBinding(binding, namespaced),
    ...validateKubeMetaUpdate(binding, old),
    ...validateSameRole(binding, old),
  ];
}

function validateBinding({ roleRef, subjects }: Binding, namespaced: boolean): FieldError[] {
  const errors = validateRoleRef(roleRef, namespaced ? ["Role", "ClusterRole"] : ["ClusterRole"]);
  for (const [i, subject] of (subjects ?? []).entries()) {
    errors.push(...validateSubject(subject, namespaced, Path.of("subjects").index(i)));
  }
  return errors;
}

function validateRoleRef(roleRef: RoleRef, kinds: readonly string[]): FieldError[] {
  const path = Path.of("roleRef");
  const errors: FieldError[] = [];
  const { apiGroup, kind, name } = roleRef;
  if (apiGroup !== GROUP) errors.push(notSupported(path.child("apiGroup"), apiGroup, [GROUP]));
  if (!kinds.includes(kind)) errors.push(notSupported(path.child("kind"), kind, kinds));
  if (name === "") errors.push(required(path.child("name"), ""));
  for (const fault of isPathSegmentName(name)) {
    errors.push(invalid(path.child("name"), name, fault));
  }
  return errors;
}

function validateSubject(subject: Subject, namespaced: boolean, path: Path): FieldError[] {
  const errors: FieldError[] = [];
  const { kind, name, apiGroup = "", namespace = "" } = subject;
  if (name === "") errors.push(required(path.child("name"), ""));
  switch (kind) {
    case "ServiceAccount":
      if (name !== "") {
        for (const fault of isDns1123Subdomain(name)) {
          errors.push(invalid(path.child("name"), name, fault));
        }
      }
      if (apiGroup !== "") errors.push(notSupported(path.child("apiGroup"), apiGroup, [""]));
      if (!namespaced && namespace === "") errors.push(required(path.child("namespace"), ""));
      break;
    case "User":
    case "Group":
      if (apiGroup !== GROUP) errors.push(notSupported(path.child("apiGroup"), apiGroup, [GROUP]));
      break;
    default:
      errors.push(notSupported(path.child("kind"), kind, ["ServiceAccount", "User", "Group"]));
  }
  return errors;
}

function validateSameRole({ roleRef }: Binding, old: Binding): FieldError[] {
  if (semanticEqual(roleRef, old.roleRef)) return [];
  const value = internalForm("rbac.v1.RoleRef", roleRef);
  return [invalid(Path.of("roleRef"), value, "cannot change roleRef")];
}

function columnsOf(kind: "RoleBinding" | "ClusterRoleBinding"): readonly Column<Binding>[] {
  const thisKind = kind.charAt(0).toLowerCase() + kind.slice(1);
  const subjectColumn = (name: string, kind: string): Column<Binding> => ({
    name,
    type: "string",
    priority: 1,
    description: `${name} in the ${thisKind}`,
    cell: ({ subjects = [] }) =>
      subjects
        .filter((subject) => subject.kind === kind)
        .map(subjectText)
        .join(", "),
  });
  return [
    nameColumn,
    {
      name: "Role",
      type: "string",
      describedBy: `rbac.v1.${kind}.roleRef`,
      cell: ({ roleRef }) => `${roleRef.kind}/${roleRef.name}`,
    },
    ageColumn,
    subjectColumn("Users", "User"),
    subjectColumn("Groups", "Group"),
    subjectColumn("ServiceAccounts", "ServiceAccount"),
  ];
}

function subjectText({ kind, name, namespace }: Subject): string {
  return kind === "ServiceAccount" ? `${namespace ?? ""}/${name}` : name;
}
