/** Objects that give every controller something to do, as users and drivers would write them. */

const containers = [{ name: "c", image: "i", resources: { requests: { cpu: "100m" } } }];
const restartPolicy = "Never";
const claimSpec = {
  accessModes: ["ReadWriteOnce"],
  resources: { requests: { storage: "1Gi" } },
};

function workload(app: string, spec: object = { containers }): object {
  return {
    selector: { matchLabels: { app } },
    template: { metadata: { labels: { app } }, spec },
  };
}

export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
  readonly [field: string]: unknown;
}

const secret = (name: string, type: string, data: object, more: object = {}): Manifest => ({
  apiVersion: "v1",
  kind: "Secret",
  metadata: { name, ...more },
  type,
  stringData: data,
});

/** Written in this order through the API, by an administrator. */
export const WORLD: readonly Manifest[] = [
  { apiVersion: "v1", kind: "Namespace", metadata: { name: "shop" } },
  { apiVersion: "v1", kind: "Node", metadata: { name: "n1" } },
  { apiVersion: "v1", kind: "Node", metadata: { name: "lost" } },
  {
    apiVersion: "v1",
    kind: "ResourceQuota",
    metadata: { name: "all" },
    spec: { hard: { pods: "100", "count/configmaps": "9" } },
  },
  {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name: "web" },
    spec: { selector: { app: "web" }, ports: [{ port: 80 }] },
  },
  { apiVersion: "v1", kind: "Service", metadata: { name: "own" }, spec: { ports: [{ port: 80 }] } },
  {
    apiVersion: "v1",
    kind: "Endpoints",
    metadata: { name: "own" },
    subsets: [{ addresses: [{ ip: "10.1.2.3" }], ports: [{ port: 80 }] }],
  },
  {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "web" },
    spec: { replicas: 3, revisionHistoryLimit: 0, ...workload("web") },
  },
  {
    apiVersion: "policy/v1",
    kind: "PodDisruptionBudget",
    metadata: { name: "web" },
    spec: { minAvailable: 1, selector: { matchLabels: { app: "web" } } },
  },
  {
    apiVersion: "autoscaling/v2",
    kind: "HorizontalPodAutoscaler",
    metadata: { name: "web" },
    spec: {
      minReplicas: 4,
      maxReplicas: 5,
      scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "web" },
    },
  },
  {
    apiVersion: "v1",
    kind: "ReplicationController",
    metadata: { name: "old" },
    spec: {
      replicas: 1,
      selector: { app: "old" },
      template: { metadata: { labels: { app: "old" } }, spec: { containers } },
    },
  },
  {
    apiVersion: "apps/v1",
    kind: "StatefulSet",
    metadata: { name: "db" },
    spec: {
      serviceName: "db",
      replicas: 1,
      persistentVolumeClaimRetentionPolicy: { whenDeleted: "Delete", whenScaled: "Delete" },
      volumeClaimTemplates: [{ metadata: { name: "data" }, spec: claimSpec }],
      ...workload("db"),
    },
  },
  {
    apiVersion: "apps/v1",
    kind: "DaemonSet",
    metadata: { name: "agent" },
    spec: workload("agent"),
  },
  {
    apiVersion: "batch/v1",
    kind: "Job",
    metadata: { name: "work" },
    spec: {
      ttlSecondsAfterFinished: 5,
      completionMode: "Indexed",
      completions: 1,
      template: { spec: { containers, restartPolicy } },
    },
  },
  {
    apiVersion: "batch/v1",
    kind: "CronJob",
    metadata: { name: "tick" },
    spec: {
      schedule: "*/10 * * * *",
      successfulJobsHistoryLimit: 0,
      jobTemplate: { spec: { template: { spec: { containers, restartPolicy } } } },
    },
  },
  {
    apiVersion: "storage.k8s.io/v1",
    kind: "StorageClass",
    metadata: { name: "remote" },
    provisioner: "csi.example",
    allowVolumeExpansion: true,
  },
  {
    apiVersion: "storage.k8s.io/v1",
    kind: "CSIDriver",
    metadata: { name: "csi.example" },
    spec: { attachRequired: true },
  },
  {
    apiVersion: "storage.k8s.io/v1",
    kind: "VolumeAttributesClass",
    metadata: { name: "fast" },
    driverName: "csi.example",
    parameters: { iops: "1" },
  },
  {
    apiVersion: "v1",
    kind: "PersistentVolume",
    metadata: { name: "disk" },
    spec: {
      capacity: { storage: "1Gi" },
      accessModes: ["ReadWriteOnce"],
      storageClassName: "remote",
      csi: { driver: "csi.example", volumeHandle: "h" },
    },
  },
  {
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    metadata: { name: "files" },
    spec: { storageClassName: "remote", volumeName: "disk", ...claimSpec },
  },
  {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "with-disk" },
    spec: {
      nodeName: "n1",
      containers,
      volumes: [{ name: "v", persistentVolumeClaim: { claimName: "files" } }],
    },
  },
  {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "with-scratch" },
    spec: {
      containers,
      volumes: [{ name: "v", ephemeral: { volumeClaimTemplate: { spec: claimSpec } } }],
    },
  },
  {
    apiVersion: "resource.k8s.io/v1",
    kind: "ResourceClaimTemplate",
    metadata: { name: "gpu" },
    spec: {
      spec: { devices: { requests: [{ name: "r", exactly: { deviceClassName: "gpu" } }] } },
    },
  },
  {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "with-gpu" },
    spec: { containers, resourceClaims: [{ name: "gpu", resourceClaimTemplateName: "gpu" }] },
  },
  {
    apiVersion: "resource.k8s.io/v1",
    kind: "ResourceClaim",
    metadata: { name: "broken-gpu" },
    spec: { devices: { requests: [{ name: "r", exactly: { deviceClassName: "gpu" } }] } },
  },
  {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "with-broken-gpu" },
    spec: { containers, resourceClaims: [{ name: "gpu", resourceClaimName: "broken-gpu" }] },
  },
  {
    apiVersion: "resource.k8s.io/v1",
    kind: "ResourceSlice",
    metadata: { name: "gpus" },
    spec: {
      driver: "gpu.example",
      nodeName: "n1",
      pool: { name: "n1", generation: 1, resourceSliceCount: 1 },
      devices: [{ name: "gpu0", taints: [{ key: "broken", effect: "NoExecute" }] }],
    },
  },
  {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "on-lost" },
    spec: { containers, nodeName: "lost" },
  },
  {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "on-nothing" },
    spec: { containers, nodeName: "never-was" },
  },
  {
    apiVersion: "v1",
    kind: "ServiceAccount",
    metadata: { name: "robot" },
  },
  {
    apiVersion: "networking.k8s.io/v1",
    kind: "ServiceCIDR",
    metadata: { name: "more" },
    spec: { cidrs: ["10.200.0.0/24"] },
  },
  secret(
    "robot-token",
    "kubernetes.io/service-account-token",
    {},
    {
      annotations: { "kubernetes.io/service-account.name": "robot" },
    },
  ),
  {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: "cluster-info", namespace: "kube-public" },
    data: { kubeconfig: "apiVersion: v1\nkind: Config\n" },
  },
  secret(
    "bootstrap-token-abcdef",
    "bootstrap.kubernetes.io/token",
    {
      "token-id": "abcdef",
      "token-secret": "0123456789abcdef",
      "usage-bootstrap-signing": "true",
      expiration: "2030-01-01T02:00:00Z",
    },
    { namespace: "kube-system" },
  ),
  {
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "ValidatingAdmissionPolicy",
    metadata: { name: "anything" },
    spec: {
      matchConstraints: {
        resourceRules: [
          { apiGroups: [""], apiVersions: ["v1"], resources: ["configmaps"], operations: ["*"] },
        ],
      },
      validations: [{ expression: "true" }],
    },
  },
  {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "ClusterRole",
    metadata: { name: "sum" },
    aggregationRule: { clusterRoleSelectors: [{ matchLabels: { part: "sum" } }] },
    rules: [],
  },
  {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "ClusterRole",
    metadata: { name: "part", labels: { part: "sum" } } as Manifest["metadata"],
    rules: [{ apiGroups: [""], resources: ["pods"], verbs: ["get"] }],
  },
  { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "left", namespace: "shop" } },
];
