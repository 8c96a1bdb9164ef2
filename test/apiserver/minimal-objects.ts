/** One small valid object of every kind that can be created: what a client has to say at least. */

export interface Example {
  /** Two that do not get in each other's way. */
  readonly names: readonly [string, string];
  /** Without kind, apiVersion and metadata. */
  of(name: string): object;
}

const labels = { app: "web" };
const container = { name: "c", image: "busybox" };
const template = { metadata: { labels }, spec: { containers: [container] } };
const oncePodTemplate = { spec: { restartPolicy: "Never", containers: [container] } };
const workload = { selector: { matchLabels: labels }, template };
const clientConfig = { url: "https://hooks.example.com/" };
const webhook = {
  name: "hook.example.com",
  clientConfig,
  sideEffects: "None",
  admissionReviewVersions: ["v1"],
};
const allConfigMaps = {
  resourceRules: [
    { apiGroups: [""], apiVersions: ["v1"], resources: ["configmaps"], operations: ["CREATE"] },
  ],
};
const rules = [{ apiGroups: [""], resources: ["pods"], verbs: ["get"] }];
const deviceRequest = { name: "r", exactly: { deviceClassName: "example.com" } };

export const CERTIFICATE_REQUEST = "certificatesigningrequests.certificates.k8s.io";

/** By `PLURAL.GROUP`, or `PLURAL.VERSION.GROUP` where versions differ. */
const EXAMPLES: Readonly<Record<string, object | ((name: string) => object)>> = {
  configmaps: { data: { k: "v" } },
  endpoints: { subsets: [{ addresses: [{ ip: "192.0.2.1" }], ports: [{ port: 80 }] }] },
  events: { involvedObject: { kind: "Pod", name: "p", namespace: "default" }, type: "Normal" },
  limitranges: { spec: { limits: [{ type: "Pod", max: { cpu: "1" } }] } },
  namespaces: {},
  nodes: {},
  persistentvolumes: {
    spec: {
      capacity: { storage: "1Gi" },
      accessModes: ["ReadWriteOnce"],
      hostPath: { path: "/srv/data" },
    },
  },
  persistentvolumeclaims: {
    spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
  },
  pods: { spec: { containers: [container] } },
  podtemplates: { template },
  replicationcontrollers: { spec: { replicas: 0, selector: labels, template } },
  resourcequotas: { spec: { hard: { "count/nothing.example.com": "1" } } },
  secrets: { stringData: { k: "v" } },
  services: { spec: { ports: [{ port: 80 }] } },
  serviceaccounts: {},
  "events.events.k8s.io": {
    eventTime: "2030-01-01T00:00:00.000000Z",
    reportingController: "example.com/test",
    reportingInstance: "test-1",
    action: "Test",
    reason: "Test",
    type: "Normal",
    regarding: { kind: "Pod", name: "p", namespace: "default" },
  },
  "endpointslices.discovery.k8s.io": {
    addressType: "IPv4",
    endpoints: [{ addresses: ["192.0.2.1"] }],
    ports: [],
  },
  "csidrivers.storage.k8s.io": { spec: {} },
  "csinodes.storage.k8s.io": { spec: { drivers: [] } },
  "csistoragecapacities.storage.k8s.io": { storageClassName: "fast" },
  "storageclasses.storage.k8s.io": { provisioner: "example.com/disk" },
  "volumeattachments.storage.k8s.io": {
    spec: { attacher: "example.com", nodeName: "n", source: { persistentVolumeName: "v" } },
  },
  "volumeattributesclasses.storage.k8s.io": {
    driverName: "example.com",
    parameters: { speed: "high" },
  },
  "priorityclasses.scheduling.k8s.io": { value: 10 },
  "leases.coordination.k8s.io": { spec: { holderIdentity: "me", leaseDurationSeconds: 10 } },
  "runtimeclasses.node.k8s.io": { handler: "runc" },
  "controllerrevisions.apps": { revision: 1, data: { any: "thing" } },
  "daemonsets.apps": { spec: workload },
  "deployments.apps": { spec: workload },
  "replicasets.apps": { spec: workload },
  "statefulsets.apps": { spec: { serviceName: "s", ...workload } },
  "cronjobs.batch": {
    spec: { schedule: "0 0 * * *", jobTemplate: { spec: { template: oncePodTemplate } } },
  },
  "jobs.batch": { spec: { template: oncePodTemplate } },
  "apiservices.apiregistration.k8s.io": (name: string) => ({
    spec: {
      group: "example.com",
      version: name.split(".")[0],
      groupPriorityMinimum: 100,
      versionPriority: 10,
      insecureSkipTLSVerify: true,
      service: { namespace: "default", name: "s" },
    },
  }),
  "horizontalpodautoscalers.autoscaling": {
    spec: {
      maxReplicas: 3,
      scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "d" },
    },
  },
  [CERTIFICATE_REQUEST]: {},
  "ingressclasses.networking.k8s.io": { spec: { controller: "example.com/controller" } },
  "ingresses.networking.k8s.io": {
    spec: { defaultBackend: { service: { name: "s", port: { number: 80 } } } },
  },
  "ipaddresses.networking.k8s.io": {
    spec: { parentRef: { resource: "services", namespace: "default", name: "s" } },
  },
  "networkpolicies.networking.k8s.io": { spec: { podSelector: {} } },
  "servicecidrs.networking.k8s.io": (name: string) => ({
    spec: { cidrs: [name === "one" ? "10.200.0.0/24" : "10.201.0.0/24"] },
  }),
  "poddisruptionbudgets.policy": { spec: { minAvailable: 1, selector: { matchLabels: labels } } },
  "clusterrolebindings.rbac.authorization.k8s.io": {
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "view" },
  },
  "clusterroles.rbac.authorization.k8s.io": { rules },
  "rolebindings.rbac.authorization.k8s.io": {
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "view" },
  },
  "roles.rbac.authorization.k8s.io": { rules },
  "mutatingadmissionpolicies.admissionregistration.k8s.io": {
    spec: {
      matchConstraints: allConfigMaps,
      reinvocationPolicy: "Never",
      mutations: [
        {
          patchType: "ApplyConfiguration",
          applyConfiguration: { expression: "Object{metadata: Object.metadata{}}" },
        },
      ],
    },
  },
  "mutatingadmissionpolicybindings.admissionregistration.k8s.io": { spec: { policyName: "one" } },
  "mutatingwebhookconfigurations.admissionregistration.k8s.io": { webhooks: [webhook] },
  "validatingadmissionpolicies.admissionregistration.k8s.io": {
    spec: { matchConstraints: allConfigMaps, validations: [{ expression: "true" }] },
  },
  "validatingadmissionpolicybindings.admissionregistration.k8s.io": {
    spec: { policyName: "one", validationActions: ["Deny"] },
  },
  "validatingwebhookconfigurations.admissionregistration.k8s.io": { webhooks: [webhook] },
  "customresourcedefinitions.apiextensions.k8s.io": (name: string) => {
    const plural = name.split(".")[0]!;
    return {
      spec: {
        group: "example.com",
        scope: "Namespaced",
        names: { plural, singular: plural.slice(0, -1), kind: `Kind${plural}` },
        versions: [
          {
            name: "v1",
            served: true,
            storage: true,
            schema: { openAPIV3Schema: { type: "object" } },
          },
        ],
      },
    };
  },
  "deviceclasses.resource.k8s.io": { spec: {} },
  "resourceclaims.resource.k8s.io": { spec: { devices: { requests: [deviceRequest] } } },
  "resourceclaimtemplates.resource.k8s.io": {
    spec: { spec: { devices: { requests: [deviceRequest] } } },
  },
  "resourceslices.resource.k8s.io": (name: string) => ({
    spec: {
      driver: "example.com",
      nodeName: "n",
      pool: { name, generation: 1, resourceSliceCount: 1 },
    },
  }),
  "flowschemas.flowcontrol.apiserver.k8s.io": {
    spec: { priorityLevelConfiguration: { name: "global-default" } },
  },
  "prioritylevelconfigurations.flowcontrol.apiserver.k8s.io": {
    spec: { type: "Limited", limited: { limitResponse: { type: "Reject" } } },
  },
};

/** Kinds whose names have to look in a certain way. */
const NAMES: Readonly<Record<string, readonly [string, string]>> = {
  "apiservices.apiregistration.k8s.io": ["v8.example.com", "v9.example.com"],
  "customresourcedefinitions.apiextensions.k8s.io": ["ones.example.com", "twos.example.com"],
  "ipaddresses.networking.k8s.io": ["10.200.0.1", "10.200.0.2"],
};

export function exampleOf(resource: string): Example | undefined {
  const body = EXAMPLES[resource];
  if (body === undefined) return undefined;
  return {
    names: NAMES[resource] ?? ["one", "two"],
    of: (name) => (typeof body === "function" ? (body(name) as object) : body),
  };
}

/** Kinds that are answered and not kept: what to ask. */
export const QUESTIONS: Readonly<Record<string, object>> = {
  "selfsubjectreviews.authentication.k8s.io": {},
  "tokenreviews.authentication.k8s.io": { spec: { token: "x" } },
  "localsubjectaccessreviews.authorization.k8s.io": {
    metadata: { namespace: "default" },
    spec: {
      user: "u",
      resourceAttributes: { namespace: "default", verb: "get", resource: "pods" },
    },
  },
  "selfsubjectaccessreviews.authorization.k8s.io": {
    spec: { nonResourceAttributes: { path: "/", verb: "get" } },
  },
  "selfsubjectrulesreviews.authorization.k8s.io": { spec: { namespace: "default" } },
  "subjectaccessreviews.authorization.k8s.io": {
    spec: { user: "u", nonResourceAttributes: { path: "/", verb: "get" } },
  },
};
