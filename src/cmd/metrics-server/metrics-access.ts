/**
 * What the metrics server may do, and who may read its answers: the roles of upstream's manifests, bound to
 * the service account `kube-system/metrics-server`. What is there already stays as it is.
 */
import type { ClusterRole, ClusterRoleBinding, RoleBinding } from "#api/generated/rbac.v1.ts";
import { clusterRoleBindingKind, roleBindingKind } from "#api/kinds/rbac/v1/bindings.ts";
import { clusterRoleKind } from "#api/kinds/rbac/v1/roles.ts";
import type { Client } from "#client/client.ts";
import { ensureObject } from "../component/ensure-object.ts";

export const METRICS_NAMESPACE = "kube-system";
const METRICS_ACCOUNT = "metrics-server";
/** The user name of its service account. */
export const METRICS_USER = `system:serviceaccount:${METRICS_NAMESPACE}:${METRICS_ACCOUNT}`;

const RBAC = "rbac.authorization.k8s.io";
const ROLE = "system:metrics-server";
const STATE_ROLE = "k8ts:kube-state-metrics";
const READER_ROLE = "system:aggregated-metrics-reader";

export async function ensureMetricsAccess(client: Client, signal: AbortSignal): Promise<void> {
  const roles = [serverRole(), readerRole(), stateRole()];
  const bindings = [
    clusterBinding(ROLE, ROLE),
    clusterBinding(STATE_ROLE, STATE_ROLE),
    clusterBinding("metrics-server:system:auth-delegator", "system:auth-delegator"),
  ];
  await Promise.all([
    ...roles.map((role) => ensureObject(client, clusterRoleKind, role, signal)),
    ...bindings.map((binding) => ensureObject(client, clusterRoleBindingKind, binding, signal)),
    ensureObject(client, roleBindingKind, authenticationBinding(), signal),
  ]);
}

/** Kubelets' pages, and which nodes and pods there are. */
function serverRole(): ClusterRole {
  return {
    apiVersion: `${RBAC}/v1`,
    kind: "ClusterRole",
    metadata: { name: ROLE },
    rules: [
      { apiGroups: [""], resources: ["nodes/metrics"], verbs: ["get"] },
      { apiGroups: [""], resources: ["pods", "nodes"], verbs: ["get", "list", "watch"] },
    ],
  };
}

/** What `/metrics` is made of, and the Services whose metrics the adapter reads. */
function stateRole(): ClusterRole {
  const list = (group: string, ...resources: readonly string[]) => ({
    ...{ apiGroups: [group], resources, verbs: ["get", "list"] },
  });
  return {
    apiVersion: `${RBAC}/v1`,
    kind: "ClusterRole",
    metadata: { name: STATE_ROLE },
    rules: [
      list(
        "",
        ...["namespaces", "persistentvolumeclaims", "persistentvolumes"],
        ...["resourcequotas", "services"],
      ),
      list("apps", "daemonsets", "deployments", "replicasets", "statefulsets"),
      list("autoscaling", "horizontalpodautoscalers"),
      list("batch", "cronjobs", "jobs"),
      list("policy", "poddisruptionbudgets"),
    ],
  };
}

/** Part of the roles view, edit and admin. */
function readerRole(): ClusterRole {
  const into = (role: string) => [`${RBAC}/aggregate-to-${role}`, "true"] as const;
  return {
    apiVersion: `${RBAC}/v1`,
    kind: "ClusterRole",
    metadata: {
      name: READER_ROLE,
      labels: Object.fromEntries([into("admin"), into("edit"), into("view")]),
    },
    rules: [
      {
        apiGroups: ["metrics.k8s.io"],
        resources: ["pods", "nodes"],
        verbs: ["get", "list", "watch"],
      },
      {
        apiGroups: ["metrics.k8s.io"],
        resources: ["pods/history", "nodes/history"],
        verbs: ["get"],
      },
    ],
  };
}

function clusterBinding(name: string, role: string): ClusterRoleBinding {
  return {
    apiVersion: `${RBAC}/v1`,
    kind: "ClusterRoleBinding",
    metadata: { name },
    roleRef: { apiGroup: RBAC, kind: "ClusterRole", name: role },
    subjects: [SUBJECT],
  };
}

/** Lets it read whom extension servers trust. */
function authenticationBinding(): RoleBinding {
  return {
    apiVersion: `${RBAC}/v1`,
    kind: "RoleBinding",
    metadata: { namespace: METRICS_NAMESPACE, name: "metrics-server-auth-reader" },
    roleRef: { apiGroup: RBAC, kind: "Role", name: "extension-apiserver-authentication-reader" },
    subjects: [SUBJECT],
  };
}

const SUBJECT = {
  kind: "ServiceAccount",
  name: METRICS_ACCOUNT,
  namespace: METRICS_NAMESPACE,
} as const;
