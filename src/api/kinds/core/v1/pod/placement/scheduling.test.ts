import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { podFaults } from "#api/testing/run-pod.ts";

type Fields = Record<string, unknown>;

const REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution";
const PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution";

function nodeTerm(...matchExpressions: Fields[]): Fields {
  return {
    affinity: { nodeAffinity: { [REQUIRED]: { nodeSelectorTerms: [{ matchExpressions }] } } },
  };
}

const TERM = `spec.affinity.nodeAffinity.${REQUIRED}.nodeSelectorTerms[0].matchExpressions[0]`;
const POD_TERM = `spec.affinity.podAffinity.${REQUIRED}[0]`;
const SPREAD = "spec.topologySpreadConstraints[0]";
const spread = (fields: Fields) => ({
  topologySpreadConstraints: [
    {
      maxSkew: 1,
      topologyKey: "z",
      whenUnsatisfiable: "DoNotSchedule",
      labelSelector: {},
      ...fields,
    },
  ],
});
const podTerm = (fields: Fields) => ({
  affinity: { podAffinity: { [REQUIRED]: [{ topologyKey: "z", ...fields }] } },
});

const cases: readonly { name: string; spec: Fields; metadata?: Fields; want: readonly string[] }[] =
  [
    {
      name: "node affinity without terms",
      spec: { affinity: { nodeAffinity: { [REQUIRED]: { nodeSelectorTerms: [] } } } },
      want: [
        `spec.affinity.nodeAffinity.${REQUIRED}.nodeSelectorTerms: Required value: must have at least one node selector term`,
      ],
    },
    {
      name: "values where none may be",
      spec: nodeTerm({ key: "a", operator: "Exists", values: ["x"] }),
      want: [
        `${TERM}.values: Forbidden: may not be specified when \`operator\` is 'Exists' or 'DoesNotExist'`,
      ],
    },
    {
      name: "comparisons need one value",
      spec: nodeTerm({ key: "a", operator: "Gt", values: ["1", "2"] }),
      want: [
        `${TERM}.values: Required value: must be specified single value when \`operator\` is 'Lt' or 'Gt'`,
      ],
    },
    {
      name: "operators that there are not",
      spec: nodeTerm({ key: "a", operator: "Near" }),
      want: [`${TERM}.operator: Invalid value: "Near": not a valid selector operator`],
    },
    {
      name: "nodeAffinity: a weight over 100, matchFields with several values and unknown keys are refused",
      spec: {
        affinity: {
          nodeAffinity: {
            [PREFERRED]: [
              {
                weight: 101,
                preference: {
                  matchFields: [{ key: "spec.x", operator: "In", values: ["a", "b"] }],
                },
              },
            ],
          },
        },
      },
      want: [
        `spec.affinity.nodeAffinity.${PREFERRED}[0].weight: Invalid value: 101: must be in the range 1-100`,
        `spec.affinity.nodeAffinity.${PREFERRED}[0].preference.matchFields[0].values: Required value: must be only one value when \`operator\` is 'In' or 'NotIn' for node field selector`,
        `spec.affinity.nodeAffinity.${PREFERRED}[0].preference.matchFields[0].key: Invalid value: "spec.x": not a valid field selector key`,
      ],
    },
    {
      name: "podAffinity: bad namespaces, matchLabelKeys and topologyKeys are refused",
      spec: podTerm({ topologyKey: "", namespaces: ["a.b"], matchLabelKeys: ["k"] }),
      want: [
        `${POD_TERM}.namespace: Invalid value: "a.b": must not contain dots`,
        `${POD_TERM}.matchLabelKeys: Forbidden: must not be specified when labelSelector is not set`,
        `${POD_TERM}.topologyKey: Required value: can not be empty`,
        `${POD_TERM}.topologyKey: Invalid value: "": name part must be non-empty`,
        `${POD_TERM}.topologyKey: Invalid value: "": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')`,
      ],
    },
    {
      name: "a key that is merged and given",
      spec: podTerm({ labelSelector: { matchLabels: { k: "v" } }, matchLabelKeys: ["k"] }),
      metadata: { labels: { k: "v" } },
      want: [`${POD_TERM}[0]: Invalid value: "k": exists in both matchLabelKeys and labelSelector`],
    },
    {
      name: "spread without skew and key",
      spec: spread({ maxSkew: 0, topologyKey: "" }),
      want: [
        `${SPREAD}.maxSkew: Invalid value: 0: must be greater than zero`,
        `${SPREAD}.topologyKey: Required value: can not be empty`,
      ],
    },
    {
      name: "tolerations: bad keys, values and operators are refused",
      spec: {
        tolerations: [
          { key: "a b", operator: "Exists" },
          { key: "a", operator: "Equal", value: "x y" },
          { key: "a", operator: "Gt", value: "1" },
          { key: "a", operator: "Like" },
        ],
      },
      want: [
        "spec.tolerations[0].key: Invalid value: \"a b\": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
        "spec.tolerations[1].operator: Invalid value: \"x y\": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')",
        'spec.tolerations[2].operator: Unsupported value: "Gt": supported values: "Equal", "Exists", "Lt", "Gt"',
        'spec.tolerations[3].operator: Unsupported value: "Like": supported values: "Equal", "Exists"',
      ],
    },
    {
      name: "a node for a pod that is held back",
      spec: { nodeName: "n", schedulingGates: [{ name: "g" }] },
      want: ["spec.nodeName: Forbidden: cannot be set until all schedulingGates have been cleared"],
    },
    {
      name: "preemption, deadline, restarts",
      spec: { preemptionPolicy: "Always", activeDeadlineSeconds: 0, restartPolicy: "Maybe" },
      want: [
        'spec.restartPolicy: Unsupported value: "Maybe": supported values: "Always", "OnFailure", "Never"',
        "spec.activeDeadlineSeconds: Invalid value: 0: must be between 1 and 2147483647, inclusive",
        'spec.preemptionPolicy: Unsupported value: "Always": supported values: "PreemptLowerPriority", "Never"',
      ],
    },
    {
      name: "dnsPolicy None without nameservers is refused",
      spec: { dnsPolicy: "None", dnsConfig: {} },
      want: [
        "spec.dnsConfig.nameservers: Required value: must provide at least one DNS nameserver when `dnsPolicy` is None",
      ],
    },
    {
      name: "too many search paths",
      spec: { dnsConfig: { searches: Array.from({ length: 33 }, () => "a") } },
      want: [
        `spec.dnsConfig.searches: Invalid value: ${JSON.stringify(Array.from({ length: 33 }, () => "a"))}: must not have more than 32 search paths`,
      ],
    },
    {
      name: "the root and names with underscores can be searched",
      spec: { dnsConfig: { searches: [".", "_tcp.example.com."] } },
      want: [],
    },
    {
      name: "a hostname of one's own",
      spec: { hostNetwork: true, hostnameOverride: "a".repeat(65) },
      want: [
        "spec.hostnameOverride: Forbidden: may not be specified when hostNetwork is true",
        "spec.hostnameOverride: Too long: may not be more than 64 bytes",
      ],
    },
    {
      name: "mirror pods, deletion costs",
      spec: {},
      metadata: {
        annotations: {
          "kubernetes.io/config.mirror": "m",
          "controller.kubernetes.io/pod-deletion-cost": "+1",
        },
      },
      want: [
        'metadata.annotations[kubernetes.io/config.mirror]: Invalid value: "m": must set spec.nodeName if mirror pod annotation is set',
        'metadata.annotations[controller.kubernetes.io/pod-deletion-cost]: Invalid value: "+1": must be a 32bit integer',
      ],
    },
  ];

describe("validation of a pod's affinity, tolerations, DNS and host aliases", () => {
  for (const { name, spec, metadata = {}, want } of cases) {
    test(name, () => assert.deepEqual(podFaults(spec, metadata), want));
  }
});
