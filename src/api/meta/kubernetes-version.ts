/** The Kubernetes version that k8ts is compatible with, with a suffix that identifies k8ts. */
export const KUBERNETES_VERSION = "v1.36.4+k8ts1";
