import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { runPod } from "#api/testing/run-pod.ts";

type Fields = Record<string, unknown>;

const withContainer = (fields: Fields) => ({ containers: [{ name: "c", image: "i", ...fields }] });

const cases: readonly { name: string; spec: Fields; metadata?: Fields; want: readonly string[] }[] =
  [
    { name: "a plain pod has no warnings", spec: {}, want: [] },
    {
      name: "a name that is no host name",
      spec: {},
      metadata: { name: "a.b" },
      want: [
        "metadata.name: this is used in the Pod's hostname, which can result in surprising behavior; a DNS label is recommended: [must not contain dots]",
      ],
    },
    {
      name: "labels of nodes that are gone",
      spec: {
        nodeSelector: { "beta.kubernetes.io/os": "linux" },
        affinity: {
          nodeAffinity: {
            preferredDuringSchedulingIgnoredDuringExecution: [
              {
                weight: 1,
                preference: {
                  matchExpressions: [
                    { key: "beta.kubernetes.io/arch", operator: "In", values: ["a b"] },
                  ],
                },
              },
            ],
          },
        },
      },
      want: [
        'spec.nodeSelector[beta.kubernetes.io/os]: deprecated since v1.14; use "kubernetes.io/os" instead',
        'spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].preference.matchExpressions[0].key: beta.kubernetes.io/arch is deprecated since v1.14; use "kubernetes.io/arch" instead',
        "spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].preference.matchExpressions[0].values[0]: a b is invalid, a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')",
      ],
    },
    {
      name: "selectors that select nothing",
      spec: {
        affinity: {
          podAntiAffinity: {
            preferredDuringSchedulingIgnoredDuringExecution: [
              { weight: 1, podAffinityTerm: { topologyKey: "z" } },
            ],
          },
        },
        topologySpreadConstraints: [
          { maxSkew: 1, topologyKey: "z", whenUnsatisfiable: "ScheduleAnyway" },
        ],
      },
      want: [
        "spec.topologySpreadConstraints[0].labelSelector: a null labelSelector results in matching no pod",
        "spec.affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].podAffinityTerm.labelSelector: a null labelSelector results in matching no pod",
      ],
    },
    {
      name: "annotations that do nothing",
      spec: {},
      metadata: {
        annotations: {
          "scheduler.alpha.kubernetes.io/critical-pod": "",
          "seccomp.security.alpha.kubernetes.io/pod": "unconfined",
        },
      },
      want: [
        'metadata.annotations[scheduler.alpha.kubernetes.io/critical-pod]: non-functional in v1.16+; use the "priorityClassName" field instead',
        'metadata.annotations[seccomp.security.alpha.kubernetes.io/pod]: non-functional in v1.27+; use the "seccompProfile" field instead',
      ],
    },
    {
      name: "volumes that are gone",
      spec: { volumes: [{ name: "v", storageos: { volumeName: "a" } }] },
      want: ["spec.volumes[0].storageOS: deprecated in v1.22, non-functional in v1.25+"],
    },
    {
      name: "overlapping paths of projected volumes and configMaps warn",
      spec: {
        volumes: [
          {
            name: "v",
            configMap: {
              name: "m",
              items: [
                { key: "a", path: "p" },
                { key: "b", path: "p/q" },
              ],
            },
          },
          {
            name: "w",
            projected: {
              sources: [
                { secret: { name: "s", items: [{ key: "a", path: "t/" }] } },
                { serviceAccountToken: { path: "t/u" } },
              ],
            },
          },
        ],
      },
      want: [
        'volume "v" (ConfigMap "m"): overlapping paths: "p/q" with "p"',
        'volume "w" (Projected): overlapping paths: "t/u" (ServiceAccountToken) with "t" (Secret "s")',
      ],
    },
    {
      name: "repeated hostAliases and imagePullSecrets warn",
      spec: {
        hostAliases: [
          { ip: "10.0.0.1", hostnames: ["a"] },
          { ip: "10.0.0.1", hostnames: ["b"] },
        ],
        imagePullSecrets: [{ name: "s" }, { name: "s" }],
      },
      want: [
        'spec.hostAliases[1].ip: duplicate ip "10.0.0.1"',
        'spec.imagePullSecrets[1].name: duplicate name "s"',
      ],
    },
    {
      name: "fractional bytes of memory warn",
      spec: withContainer({
        resources: { limits: { memory: "1500m" }, requests: { memory: "1" } },
      }),
      want: [
        'spec.containers[0].resources.limits[memory]: fractional byte value "1500m" is invalid, must be an integer',
      ],
    },
    {
      name: "env variables that hide others warn",
      spec: withContainer({
        env: [
          { name: "A", value: "1" },
          { name: "A", value: "$(A)2" },
          { name: "A", value: "3" },
        ],
      }),
      want: [
        'spec.containers[0].env[2]: hides previous definition of "A", which may be dropped when using apply',
      ],
    },
    {
      name: "ports that clash with others warn",
      spec: withContainer({
        ports: [
          { containerPort: 1, name: "a" },
          { containerPort: 1, hostPort: 5 },
          { containerPort: 2, hostPort: 6, hostIP: "10.0.0.1" },
          { containerPort: 2, hostPort: 6 },
          { containerPort: 3, hostIP: "10.0.0.1" },
        ],
      }),
      want: [
        "spec.containers[0].ports[1]: overlapping port definition with spec.containers[0].ports[0]",
        "spec.containers[0].ports[3]: dangerously ambiguous port definition with spec.containers[0].ports[2]",
        "spec.containers[0].ports[4]: hostIP set without hostPort: {Name: HostPort:0 ContainerPort:3 Protocol:TCP HostIP:10.0.0.1}",
      ],
    },
    {
      name: "addresses in long form",
      spec: { dnsConfig: { nameservers: ["fd00:0:0:0:0:0:0:1"] } },
      want: [
        'spec.dnsConfig.nameservers[0]: IPv6 address "fd00:0:0:0:0:0:0:1" should be in RFC 5952 canonical format ("fd00::1")',
      ],
    },
  ];

describe("warnings about pods", () => {
  for (const { name, spec, metadata, want } of cases) {
    test(name, () => assert.deepEqual(runPod(spec, metadata).warnings, want));
  }
});
