/**
 * What the cloud controller manager may do, and no more. The test beside runs every controller under
 * it, and fails if one is forbidden something or a right is not used.
 *
 * It is the ClusterRole of Kubernetes' documentation without what no controller of today asks for
 * (Endpoints were once the lock of leader election, PersistentVolumes had labels of clouds, service
 * accounts are made only with --use-service-account-credentials), and with the one right that is
 * missing there: the finalizer and the status of a Service are written through its status subresource.
 */
import type { PolicyRule } from "#api/generated/rbac.v1.ts";

export const CLOUD_ROLE = "cloud-controller-manager";
export const CLOUD_ACCOUNT = "cloud-controller-manager";
export const CLOUD_NAMESPACE = "kube-system";
/** Upstream's, so that two managers never lead at once. */
export const CLOUD_LEASE = "cloud-controller-manager";

/** In the whole cluster. */
export const CLOUD_RULES: readonly PolicyRule[] = [
  { apiGroups: [""], resources: ["events"], verbs: ["create", "patch"] },
  {
    apiGroups: [""],
    resources: ["nodes"],
    verbs: ["list", "watch", "update", "patch", "delete"],
  },
  { apiGroups: [""], resources: ["nodes/status"], verbs: ["patch"] },
  { apiGroups: [""], resources: ["services"], verbs: ["list", "watch"] },
  { apiGroups: [""], resources: ["services/status"], verbs: ["patch"] },
];

/** In kube-system, for leader election. */
export const CLOUD_LEASE_RULES: readonly PolicyRule[] = [
  { apiGroups: ["coordination.k8s.io"], resources: ["leases"], verbs: ["create"] },
  {
    apiGroups: ["coordination.k8s.io"],
    resources: ["leases"],
    resourceNames: [CLOUD_LEASE],
    verbs: ["get", "update"],
  },
];
