/** The Kubernetes that k8ts is compatible with, marked so that people can tell the two apart. */
export const KUBERNETES_VERSION = "v1.36.4+k8ts1";
