/**
 * What upstream's metrics call the queue of each controller, for the dashboards that ask for it by name.
 * Where upstream has several queues, the one that holds what ours does.
 */
const QUEUES: Readonly<Record<string, string>> = {
  "bootstrap-signer-controller": "bootstrap_signer_queue",
  "certificatesigningrequest-signing-controller": "certificate",
  "cloud-node-controller": "Nodes",
  "clusterrole-aggregation-controller": "ClusterRoleAggregator",
  "cronjob-controller": "cronjob",
  "daemonset-controller": "daemonset",
  "deployment-controller": "deployment",
  "disruption-controller": "disruption",
  "endpoints-controller": "endpoint",
  "endpointslice-controller": "endpoint_slice",
  "endpointslice-mirroring-controller": "endpoint_slice_mirroring",
  "ephemeral-volume-controller": "ephemeral_volume",
  "garbage-collector-controller": "garbage_collector_attempt_to_delete",
  "horizontal-pod-autoscaler-controller": "horizontalpodautoscaler",
  "job-controller": "job",
  "namespace-controller": "namespace",
  "node-lifecycle-controller": "node_lifecycle_controller",
  "node-route-controller": "Routes",
  "persistentvolume-binder-controller": "claims",
  "persistentvolume-expander-controller": "volume_expand",
  "persistentvolume-protection-controller": "pvprotection",
  "persistentvolumeclaim-protection-controller": "pvcprotection",
  "pod-garbage-collector-controller": "orphaned_pods_nodes",
  "replicaset-controller": "replicaset",
  "replicationcontroller-controller": "replicationmanager",
  "resourceclaim-controller": "resource_claim",
  "resourcequota-controller": "resourcequota_primary",
  "root-ca-certificate-publisher-controller": "root_ca_cert_publisher",
  "selinux-warning-controller": "selinux_warning",
  "service-cidr-controller": "ipaddresses",
  "service-lb-controller": "service",
  "serviceaccount-controller": "serviceaccount",
  "serviceaccount-token-controller": "serviceaccount_tokens_service",
  "statefulset-controller": "statefulset",
  "taint-eviction-controller": "noexec_taint_pod",
  "token-cleaner-controller": "token_cleaner",
  "ttl-after-finished-controller": "ttl_jobs_to_delete",
  "ttl-controller": "ttlcontroller",
  "validatingadmissionpolicy-status-controller": "validatingadmissionpolicy-status",
  "volumeattributesclass-protection-controller": "vacprotection",
};

export function queueNameOf(controller: string): string {
  return QUEUES[controller] ?? controller;
}
