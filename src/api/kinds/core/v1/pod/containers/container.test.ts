import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { containerFaults, podFaults, volumeFaults } from "#api/testing/run-pod.ts";

const LABEL_FAULT =
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const VOLUMES = {
  volumes: [
    { name: "v", emptyDir: {} },
    { name: "p", persistentVolumeClaim: { claimName: "p" } },
  ],
};

const cases: readonly {
  name: string;
  container: Record<string, unknown>;
  spec?: Record<string, unknown>;
  want: readonly string[];
}[] = [
  { name: "a plain container is accepted", container: {}, want: [] },
  { name: "an empty name is refused", container: { name: "" }, want: ["name: Required value"] },
  {
    name: "a name that is no DNS label is refused",
    container: { name: "A" },
    want: [`name: Invalid value: "A": ${LABEL_FAULT}`],
  },
  { name: "an empty image is refused", container: { image: "" }, want: ["image: Required value"] },
  {
    name: "an image with a space around it",
    container: { image: " i" },
    want: ['image: Invalid value: " i": must not have leading or trailing whitespace'],
  },
  {
    name: "policies that do not exist",
    container: { terminationMessagePolicy: "X", imagePullPolicy: "Y" },
    want: [
      'terminationMessagePolicy: Unsupported value: "X": supported values: "File", "FallbackToLogsOnError"',
      'imagePullPolicy: Unsupported value: "Y": supported values: "Always", "IfNotPresent", "Never"',
    ],
  },
  {
    name: "ports: bad names, unknown protocols and bad hostPorts are refused",
    container: {
      ports: [
        { containerPort: 1, name: "a--b" },
        { containerPort: 2, name: "x", protocol: "ICMP" },
        { containerPort: 3, name: "x", hostPort: 70000 },
        { containerPort: 4, hostPort: 9 },
        { containerPort: 5, hostPort: 9 },
      ],
    },
    want: [
      'ports[0].name: Invalid value: "a--b": must not contain consecutive hyphens',
      'ports[1].protocol: Unsupported value: "ICMP": supported values: "SCTP", "TCP", "UDP"',
      'ports[2].name: Duplicate value: "x"',
      "ports[2].hostPort: Invalid value: 70000: must be between 1 and 65535, inclusive",
      'ports[4].hostPort: Duplicate value: "TCP//9"',
    ],
  },
  {
    name: "on the host's network the ports are the host's",
    container: { ports: [{ containerPort: 1, hostPort: 2 }] },
    spec: { hostNetwork: true },
    want: [
      "ports[0].hostPort: Invalid value: 2: must match `containerPort` when `hostNetwork` is true",
    ],
  },
  {
    name: "variables without a source, with two, and with a value beside one",
    container: {
      env: [
        { name: "", value: "x" },
        { name: "a", valueFrom: {} },
        {
          name: "b",
          valueFrom: {
            fieldRef: { fieldPath: "metadata.name" },
            secretKeyRef: { name: "s", key: "k" },
          },
        },
        { name: "c", value: "x", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } },
      ],
    },
    want: [
      "env[0].name: Required value",
      'env[1].valueFrom: Invalid value: "": must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`',
      'env[2].valueFrom: Invalid value: "": may not have more than one field specified at a time',
      'env[3].valueFrom: Invalid value: "": may not be specified when `value` is not empty',
    ],
  },
  {
    name: "fields that variables cannot have",
    container: {
      env: [
        { name: "a", valueFrom: { fieldRef: { fieldPath: "spec.foo" } } },
        { name: "b", valueFrom: { fieldRef: { fieldPath: "metadata.name['a']" } } },
        { name: "c", valueFrom: { fieldRef: { apiVersion: "v2", fieldPath: "metadata.name" } } },
        { name: "d", valueFrom: { fieldRef: { fieldPath: "status.phase" } } },
        { name: "e", valueFrom: { fieldRef: { fieldPath: "metadata.labels['ok']" } } },
      ],
    },
    want: [
      'env[0].valueFrom.fieldRef.fieldPath: Invalid value: "spec.foo": error converting fieldPath: field label not supported: spec.foo',
      "env[1].valueFrom.fieldRef.fieldPath: Invalid value: \"metadata.name['a']\": error converting fieldPath: field label does not support subscript: metadata.name['a']",
      'env[2].valueFrom.fieldRef.fieldPath: Invalid value: "metadata.name": error converting fieldPath: unsupported pod version: v2',
      'env[3].valueFrom.fieldRef.fieldPath: Unsupported value: "status.phase": supported values: "metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName", "status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs"',
    ],
  },
  {
    name: "resourceFieldRef: a missing resource and bad divisors are refused",
    container: {
      env: [
        { name: "a", valueFrom: { resourceFieldRef: { resource: "" } } },
        { name: "b", valueFrom: { resourceFieldRef: { resource: "limits.memory", divisor: "3" } } },
        {
          name: "c",
          valueFrom: { resourceFieldRef: { resource: "requests.hugepages-2Mi", divisor: "1m" } },
        },
        {
          name: "d",
          valueFrom: {
            resourceFieldRef: { resource: "requests.ephemeral-storage", divisor: "1Mi" },
          },
        },
      ],
    },
    want: [
      "env[0].valueFrom.resourceFieldRef.resource: Required value",
      'env[1].valueFrom.resourceFieldRef.divisor: Invalid value: "limits.memory": only divisor\'s values 1, 1k, 1M, 1G, 1T, 1P, 1E, 1Ki, 1Mi, 1Gi, 1Ti, 1Pi, 1Ei are supported with the memory resource',
      'env[2].valueFrom.resourceFieldRef.divisor: Invalid value: "requests.hugepages-2Mi": only divisor\'s values 1, 1k, 1M, 1G, 1T, 1P, 1E, 1Ki, 1Mi, 1Gi, 1Ti, 1Pi, 1Ei are supported with the hugepages resource',
    ],
  },
  {
    name: "fileKeyRef: bad paths, unknown volumes and volumes that are no emptyDir are refused",
    container: {
      env: [
        { name: "a", valueFrom: { fileKeyRef: { key: "k", volumeName: "p", path: "../f" } } },
        { name: "b", valueFrom: { fileKeyRef: { key: "k", volumeName: "q", path: "f" } } },
        { name: "c", valueFrom: { fileKeyRef: { key: "k", volumeName: "v", path: "f" } } },
      ],
    },
    spec: VOLUMES,
    want: [
      "env[0].valueFrom.fileKeyRef.path: Invalid value: \"../f\": must not contain '..'",
      'env[0].valueFrom.fileKeyRef.volumeName: Invalid value: "p": referenced volume must be of type emptyDir',
      'env[1].valueFrom.fileKeyRef.volumeName: Not found: "q"',
    ],
  },
  {
    name: "envFrom: bad prefixes, empty names and missing references are refused",
    container: { envFrom: [{ prefix: "=", secretRef: { name: "" } }, {}] },
    want: [
      "envFrom[0].prefix: Invalid value: \"=\": a valid environment variable name must consist only of printable ASCII characters other than '='",
      "envFrom[0].secretRef.name: Required value",
      'envFrom: Invalid value: "": must specify one of: `configMapRef` or `secretRef`',
    ],
  },
  {
    name: "volumeMounts: unknown volumes, bad subPaths and repeated mountPaths are refused",
    container: {
      volumeMounts: [
        { name: "v", mountPath: "/a", subPath: "/x" },
        { name: "v", mountPath: "/a", subPathExpr: "../y" },
        { name: "q", mountPath: "" },
        { name: "v", mountPath: "/b", mountPropagation: "Bidirectional" },
        { name: "v", mountPath: "/c", recursiveReadOnly: "Enabled", mountPropagation: "None" },
        { name: "v", mountPath: "/d", recursiveReadOnly: "X" },
      ],
    },
    spec: VOLUMES,
    want: [
      'volumeMounts.subPath: Invalid value: "/x": must be a relative path',
      'volumeMounts[1].mountPath: Invalid value: "/a": must be unique',
      "volumeMounts.subPathExpr: Invalid value: \"../y\": must not contain '..'",
      'volumeMounts[2].name: Not found: "q"',
      "volumeMounts[2].mountPath: Required value",
      "volumeMounts.mountPropagation: Forbidden: Bidirectional mount propagation is available only to privileged containers",
      "volumeMounts.recursiveReadOnly: Forbidden: may only be specified when readOnly is true",
      'volumeMounts.recursiveReadOnly: Unsupported value: "X": supported values: "Disabled", "Enabled", "IfPossible"',
    ],
  },
  {
    name: "volumeDevices: repeated and bad devicePaths are refused",
    container: {
      volumeMounts: [{ name: "v", mountPath: "/a" }],
      volumeDevices: [
        { name: "v", devicePath: "/a" },
        { name: "p", devicePath: "/../x" },
        { name: "p", devicePath: "" },
        { name: "q", devicePath: "/q" },
      ],
    },
    spec: VOLUMES,
    want: [
      'volumeMounts[0].name: Invalid value: "v": must not already exist in volumeDevices',
      'volumeMounts[0].mountPath: Invalid value: "/a": must not already exist as a path in volumeDevices',
      'volumeDevices[0].name: Invalid value: "v": can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode',
      'volumeDevices[0].name: Invalid value: "v": must not already exist in volumeMounts',
      'volumeDevices[0].devicePath: Invalid value: "/a": must not already exist as a path in volumeMounts',
      "volumeDevices[1].devicePath: Invalid value: \"/../x\": can not contain backsteps ('..')",
      'volumeDevices[2].name: Invalid value: "p": must be unique',
      "volumeDevices[2].devicePath: Required value",
      'volumeDevices[3].name: Not found: "q"',
    ],
  },
  {
    name: "probes: bad handlers and thresholds are refused",
    container: {
      livenessProbe: { exec: { command: [] }, successThreshold: 2 },
      readinessProbe: {
        httpGet: { port: "no port!", scheme: "FTP" },
        terminationGracePeriodSeconds: 1,
      },
      startupProbe: { grpc: { port: 0 }, terminationGracePeriodSeconds: -1 },
    },
    want: [
      "livenessProbe.exec.command: Required value",
      "livenessProbe.successThreshold: Invalid value: 2: must be 1",
      'readinessProbe.httpGet.port: Invalid value: "no port!": must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)',
      'readinessProbe.httpGet.scheme: Unsupported value: "FTP": supported values: "HTTP", "HTTPS"',
      "readinessProbe.terminationGracePeriodSeconds: Invalid value: 1: must not be set for readinessProbes",
      "startupProbe.grpc.port: Invalid value: 0: must be between 1 and 65535, inclusive",
      "startupProbe.terminationGracePeriodSeconds: Invalid value: -1: must be greater than 0",
    ],
  },
  {
    name: "lifecycle: a long sleep and two handlers in one hook are refused",
    container: {
      lifecycle: {
        postStart: { sleep: { seconds: 31 } },
        preStop: { exec: { command: ["a"] }, sleep: { seconds: 1 } },
      },
    },
    want: [
      "lifecycle.postStart.sleep: Invalid value: 31: must be non-negative and less than terminationGracePeriodSeconds (30)",
      "lifecycle.preStop.sleep: Forbidden: may not specify more than 1 handler type",
    ],
  },
  {
    name: "restartPolicyRules: unknown actions and missing exitCodes are refused",
    container: {
      restartPolicy: "Sometimes",
      restartPolicyRules: [
        { action: "Explode", exitCodes: { operator: "Is", values: [1] } },
        { action: "Restart" },
      ],
    },
    want: [
      'restartPolicy: Unsupported value: "Sometimes": supported values: "Always", "Never", "OnFailure"',
      'restartPolicyRules[0].action: Unsupported value: "Explode": supported values: "Restart", "RestartAllContainers"',
      'restartPolicyRules[0].exitCodes.operator: Unsupported value: "Is": supported values: "In", "NotIn"',
      "restartPolicyRules[1].exitCodes: Required value: must be specified",
    ],
  },
  {
    name: "too many restart rules",
    container: {
      restartPolicy: "Never",
      restartPolicyRules: Array.from({ length: 21 }, () => ({
        action: "Restart",
        exitCodes: { operator: "In", values: [1] },
      })),
    },
    want: ["restartPolicyRules: Too many: 21: must have at most 20 items"],
  },
  {
    name: "resize policies in a pod that never restarts",
    container: { resizePolicy: [{ resourceName: "cpu", restartPolicy: "RestartContainer" }] },
    spec: { restartPolicy: "Never" },
    want: [
      "resizePolicy: Invalid value: \"RestartContainer\": must be 'NotRequired' when pod `restartPolicy` is 'Never'",
    ],
  },
];

describe("containers", () => {
  for (const { name, container, spec = {}, want } of cases) {
    test(name, () => assert.deepEqual(containerFaults(container, spec), want));
  }
});

describe("lists of containers", () => {
  const init = (fields: Record<string, unknown>) =>
    podFaults({ initContainers: [{ name: "a", image: "i", ...fields }] });

  test("names are unique across regular and init containers", () => {
    assert.deepEqual(init({ name: "c" }), ['spec.initContainers[0].name: Duplicate value: "c"']);
  });

  test("init containers have no probes, sidecars do", () => {
    const probe = { livenessProbe: { exec: { command: ["a"] } } };
    assert.deepEqual(init(probe), [
      "spec.initContainers[0].livenessProbe: Forbidden: may not be set for init containers without restartPolicy=Always",
    ]);
    assert.deepEqual(init({ ...probe, restartPolicy: "Always" }), []);
  });

  test("init containers do not restart when resized", () => {
    const policy = { resizePolicy: [{ resourceName: "cpu", restartPolicy: "RestartContainer" }] };
    assert.deepEqual(init(policy), [
      "spec.initContainers[0].resizePolicy[0].restartPolicy: Invalid value: \"RestartContainer\": must not be set to 'RestartContainer' for non-sidecar initContainers",
    ]);
    assert.deepEqual(init({ ...policy, restartPolicy: "Always" }), []);
  });

  test("ephemeral containers come later", () => {
    assert.deepEqual(podFaults({ ephemeralContainers: [{ name: "e", image: "i" }] }), [
      "spec.ephemeralContainers: Forbidden: cannot be set on create",
    ]);
  });

  test("ephemeral containers have no part in the service, not even an empty one", () => {
    const given = { ports: [], resources: { limits: {} }, lifecycle: {}, restartPolicy: "" };
    const faults = podFaults({ ephemeralContainers: [{ name: "e", image: "i", ...given }] });
    assert.deepEqual(
      faults.filter((fault) => fault.includes("Ephemeral Container")),
      ["ports", "resources", "restartPolicy", "lifecycle"].map(
        (field) =>
          `spec.ephemeralContainers[0].${field}: Forbidden: cannot be set for an Ephemeral Container`,
      ),
    );
  });

  test("a volume without a source is an empty folder", () => {
    assert.deepEqual(volumeFaults({}), []);
  });
});
