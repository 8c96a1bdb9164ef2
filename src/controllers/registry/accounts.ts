/**
 * The service account in kube-system that each controller acts as. Bootstrap roles named
 * `system:controller:ACCOUNT` say what it may do.
 */
const ACCOUNTS: Readonly<Record<string, string>> = {
  "bootstrap-signer-controller": "bootstrap-signer",
  "certificatesigningrequest-approving-controller": "certificate-controller",
  "certificatesigningrequest-cleaner-controller": "certificate-controller",
  "certificatesigningrequest-signing-controller": "certificate-controller",
  "cloud-node-controller": "node-controller",
  "cloud-node-lifecycle-controller": "node-controller",
  "daemonset-controller": "daemon-set-controller",
  "endpoints-controller": "endpoint-controller",
  "endpointslice-mirroring-controller": "endpointslicemirroring-controller",
  "garbage-collector-controller": "generic-garbage-collector",
  "horizontal-pod-autoscaler-controller": "horizontal-pod-autoscaler",
  "legacy-serviceaccount-token-cleaner-controller": "legacy-service-account-token-cleaner",
  "node-ipam-controller": "node-controller",
  "node-lifecycle-controller": "node-controller",
  "node-route-controller": "route-controller",
  "persistentvolume-attach-detach-controller": "attachdetach-controller",
  "persistentvolume-binder-controller": "persistent-volume-binder",
  "persistentvolume-expander-controller": "expand-controller",
  "persistentvolume-protection-controller": "pv-protection-controller",
  "persistentvolumeclaim-protection-controller": "pvc-protection-controller",
  "pod-garbage-collector-controller": "pod-garbage-collector",
  "replicationcontroller-controller": "replication-controller",
  "resourceclaim-controller": "resource-claim-controller",
  "root-ca-certificate-publisher-controller": "root-ca-cert-publisher",
  "service-cidr-controller": "service-cidrs-controller",
  "service-lb-controller": "service-controller",
  "serviceaccount-controller": "service-account-controller",
  "storageversion-garbage-collector-controller": "storage-version-garbage-collector",
  "taint-eviction-controller": "node-controller",
  "token-cleaner-controller": "token-cleaner",
};

/** One makes what accounts need and cannot wait for its own; one is ours and has no role upstream. */
const WITHOUT_ACCOUNT: ReadonlySet<string> = new Set([
  "default-storageclass-controller",
  "serviceaccount-token-controller",
]);

export function accountOf(controller: string): string | undefined {
  return WITHOUT_ACCOUNT.has(controller) ? undefined : (ACCOUNTS[controller] ?? controller);
}
