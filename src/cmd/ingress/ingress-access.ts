/** The objects that an Ingress controller of a cluster needs: its role and its default class. */
import type { IngressClass } from "#api/generated/networking.v1.ts";
import type { ClusterRole, ClusterRoleBinding } from "#api/generated/rbac.v1.ts";
import { ingressClassKind } from "#api/kinds/networking/v1/ingress-class.ts";
import { clusterRoleBindingKind } from "#api/kinds/rbac/v1/bindings.ts";
import { clusterRoleKind } from "#api/kinds/rbac/v1/roles.ts";
import type { Client } from "#client/client.ts";
import { CONTROLLER } from "#ingress/routes/build-routing-table.ts";
import { ensureObject } from "../component/ensure-object.ts";

const NAMESPACE = "kube-system";
const ACCOUNT = "k8ts-ingress";
const ROLE_NAME = "k8ts:ingress";
const RBAC = "rbac.authorization.k8s.io";
const NETWORKING = "networking.k8s.io";

/** The user name of its service account. */
export const INGRESS_USER = `system:serviceaccount:${NAMESPACE}:${ACCOUNT}`;

/** What is there already stays as it is. */
export async function ensureIngressAccess(client: Client, signal: AbortSignal): Promise<void> {
  await ensureObject(client, clusterRoleKind, ROLE, signal);
  await ensureObject(client, clusterRoleBindingKind, BINDING, signal);
}

/** The class `k8ts`, which Ingresses without a class get. */
export async function ensureIngressClass(client: Client, signal: AbortSignal): Promise<void> {
  await ensureObject(client, ingressClassKind, CLASS, signal);
}

const READ = ["list", "watch"];

const ROLE: ClusterRole = {
  apiVersion: `${RBAC}/v1`,
  kind: "ClusterRole",
  metadata: { name: ROLE_NAME },
  rules: [
    { apiGroups: [NETWORKING], resources: ["ingresses", "ingressclasses"], verbs: READ },
    { apiGroups: [NETWORKING], resources: ["ingresses/status"], verbs: ["patch"] },
    { apiGroups: [""], resources: ["services", "secrets"], verbs: READ },
    { apiGroups: ["discovery.k8s.io"], resources: ["endpointslices"], verbs: READ },
    { apiGroups: [""], resources: ["events"], verbs: ["create", "patch"] },
  ],
};

const BINDING: ClusterRoleBinding = {
  apiVersion: `${RBAC}/v1`,
  kind: "ClusterRoleBinding",
  metadata: { name: ROLE_NAME },
  roleRef: { apiGroup: RBAC, kind: "ClusterRole", name: ROLE_NAME },
  subjects: [{ kind: "ServiceAccount", namespace: NAMESPACE, name: ACCOUNT }],
};

const CLASS: IngressClass = {
  apiVersion: `${NETWORKING}/v1`,
  kind: "IngressClass",
  metadata: {
    name: "k8ts",
    annotations: { "ingressclass.kubernetes.io/is-default-class": "true" },
  },
  spec: { controller: CONTROLLER },
};
