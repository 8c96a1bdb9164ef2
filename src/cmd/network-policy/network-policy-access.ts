/**
 * The right to read what network policies are made of, for the identities that a node's proxy has. The
 * role that upstream gives to kube-proxy has neither pods nor policies.
 */
import type { ClusterRole, ClusterRoleBinding } from "#api/generated/rbac.v1.ts";
import { clusterRoleBindingKind } from "#api/kinds/rbac/v1/bindings.ts";
import { clusterRoleKind } from "#api/kinds/rbac/v1/roles.ts";
import type { Client } from "#client/client.ts";
import { ensureObject } from "../component/ensure-object.ts";

const NAME = "k8ts:network-policy";
const RBAC = "rbac.authorization.k8s.io";

export async function ensureNetworkPolicyAccess(
  client: Client,
  signal: AbortSignal,
): Promise<void> {
  await ensureObject(client, clusterRoleKind, ROLE, signal);
  await ensureObject(client, clusterRoleBindingKind, BINDING, signal);
}

const ROLE: ClusterRole = {
  apiVersion: `${RBAC}/v1`,
  kind: "ClusterRole",
  metadata: { name: NAME },
  rules: [
    { apiGroups: [""], resources: ["pods", "namespaces"], verbs: ["list", "watch"] },
    {
      apiGroups: ["networking.k8s.io"],
      resources: ["networkpolicies"],
      verbs: ["list", "watch"],
    },
  ],
};

const BINDING: ClusterRoleBinding = {
  apiVersion: `${RBAC}/v1`,
  kind: "ClusterRoleBinding",
  metadata: { name: NAME },
  roleRef: { apiGroup: RBAC, kind: "ClusterRole", name: NAME },
  subjects: [
    { apiGroup: RBAC, kind: "User", name: "system:kube-proxy" },
    { kind: "ServiceAccount", name: "kube-proxy", namespace: "kube-system" },
  ],
};
