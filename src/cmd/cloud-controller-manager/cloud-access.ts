/** The role of the cloud controller manager in a cluster, for its service account. */

import type { ClusterRole, ClusterRoleBinding, Role, RoleBinding } from "#api/generated/rbac.v1.ts";
import { clusterRoleBindingKind, roleBindingKind } from "#api/kinds/rbac/v1/bindings.ts";
import { clusterRoleKind, roleKind } from "#api/kinds/rbac/v1/roles.ts";
import type { Client } from "#client/client.ts";
import {
  CLOUD_ACCOUNT,
  CLOUD_LEASE_RULES,
  CLOUD_NAMESPACE,
  CLOUD_ROLE,
  CLOUD_RULES,
} from "#cloud/cloud-role.ts";
import { ensureObject } from "../component/ensure-object.ts";

const RBAC = "rbac.authorization.k8s.io";
const LEASE_ROLE = `${CLOUD_ROLE}:leader-election`;

/** The user name of its service account. */
export const CLOUD_USER = `system:serviceaccount:${CLOUD_NAMESPACE}:${CLOUD_ACCOUNT}`;

/** What is there already stays as it is. */
export async function ensureCloudAccess(client: Client, signal: AbortSignal): Promise<void> {
  await ensureObject(client, clusterRoleKind, clusterRole(), signal);
  await ensureObject(client, clusterRoleBindingKind, clusterRoleBinding(), signal);
  await ensureObject(client, roleKind, leaseRole(), signal);
  await ensureObject(client, roleBindingKind, leaseRoleBinding(), signal);
}

function clusterRole(): ClusterRole {
  return {
    apiVersion: `${RBAC}/v1`,
    kind: "ClusterRole",
    metadata: { name: CLOUD_ROLE },
    rules: [...CLOUD_RULES],
  };
}

function clusterRoleBinding(): ClusterRoleBinding {
  return {
    apiVersion: `${RBAC}/v1`,
    kind: "ClusterRoleBinding",
    metadata: { name: CLOUD_ROLE },
    roleRef: { apiGroup: RBAC, kind: "ClusterRole", name: CLOUD_ROLE },
    subjects: [{ kind: "ServiceAccount", namespace: CLOUD_NAMESPACE, name: CLOUD_ACCOUNT }],
  };
}

function leaseRole(): Role {
  return {
    apiVersion: `${RBAC}/v1`,
    kind: "Role",
    metadata: { namespace: CLOUD_NAMESPACE, name: LEASE_ROLE },
    rules: [...CLOUD_LEASE_RULES],
  };
}

function leaseRoleBinding(): RoleBinding {
  return {
    apiVersion: `${RBAC}/v1`,
    kind: "RoleBinding",
    metadata: { namespace: CLOUD_NAMESPACE, name: LEASE_ROLE },
    roleRef: { apiGroup: RBAC, kind: "Role", name: LEASE_ROLE },
    subjects: [{ kind: "ServiceAccount", namespace: CLOUD_NAMESPACE, name: CLOUD_ACCOUNT }],
  };
}
