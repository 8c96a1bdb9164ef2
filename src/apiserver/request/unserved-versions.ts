/**
 * Kinds in versions that are not served any more but that upstream can still read. A body of such a
 * version is refused for its version, not because its kind would be unknown.
 */

/** `extensions` was the first home of kinds of other groups. */
const UNSERVED: Readonly<Record<string, string>> = {
  "apps/v1beta1": "Deployment StatefulSet ControllerRevision",
  "apps/v1beta2": "Deployment StatefulSet DaemonSet ReplicaSet ControllerRevision",
  "authentication.k8s.io/v1alpha1": "SelfSubjectReview",
  "authentication.k8s.io/v1beta1": "SelfSubjectReview TokenReview",
  "authorization.k8s.io/v1beta1":
    "SelfSubjectRulesReview SelfSubjectAccessReview SubjectAccessReview LocalSubjectAccessReview",
  "batch/v1beta1": "CronJob",
  "discovery.k8s.io/v1beta1": "EndpointSlice",
  "events.k8s.io/v1beta1": "Event",
  "extensions/v1beta1": "Deployment DaemonSet Ingress ReplicaSet NetworkPolicy",
  "flowcontrol.apiserver.k8s.io/v1beta1": "FlowSchema PriorityLevelConfiguration",
  "flowcontrol.apiserver.k8s.io/v1beta2": "FlowSchema PriorityLevelConfiguration",
  "flowcontrol.apiserver.k8s.io/v1beta3": "FlowSchema PriorityLevelConfiguration",
  "node.k8s.io/v1alpha1": "RuntimeClass",
  "node.k8s.io/v1beta1": "RuntimeClass",
  "policy/v1beta1": "PodDisruptionBudget Eviction",
  "rbac.authorization.k8s.io/v1alpha1": "Role RoleBinding ClusterRole ClusterRoleBinding",
  "rbac.authorization.k8s.io/v1beta1": "Role RoleBinding ClusterRole ClusterRoleBinding",
  "scheduling.k8s.io/v1beta1": "PriorityClass",
  "storage.k8s.io/v1alpha1": "VolumeAttachment CSIStorageCapacity VolumeAttributesClass",
};

/** Whether an old version of this kind could be read where `group` is expected. */
export function isUnservedVersion(apiVersion: string, kind: string, group: string): boolean {
  if (!Object.hasOwn(UNSERVED, apiVersion)) return false;
  const isOfGroup = apiVersion.startsWith(`${group}/`) || apiVersion.startsWith("extensions/");
  return isOfGroup && UNSERVED[apiVersion]!.split(" ").includes(kind);
}
