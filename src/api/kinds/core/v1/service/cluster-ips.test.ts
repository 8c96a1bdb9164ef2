import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { Service, ServiceSpec } from "#api/generated/core.v1.ts";
import type { Draft } from "#api/kind.ts";
import { formatFieldError } from "#api/validation/format-field-error.ts";
import { alignClusterIps, validateClusterIpChange } from "./cluster-ips.ts";
import { type ClusterFamilies, decideFamilies } from "./ip-families.ts";
import { keepAllocatedValues } from "./types.ts";

const SINGLE: ClusterFamilies = ["IPv4"];
const DUAL: ClusterFamilies = ["IPv4", "IPv6"];
const both = { clusterIP: "10.0.0.1", clusterIPs: ["10.0.0.1", "fd00::1"] };
const dual = { ...both, ipFamilies: ["IPv4", "IPv6"], ipFamilyPolicy: "RequireDualStack" };

function serviceOf(spec: ServiceSpec): Draft<Service> {
  return structuredClone({
    metadata: {},
    spec: { type: "ClusterIP", ...spec },
    status: { loadBalancer: {} },
  }) as Draft<Service>;
}

describe("clusterIP and clusterIPs", () => {
  const rows: readonly [
    name: string,
    spec: ServiceSpec,
    old: ServiceSpec | undefined,
    ips: unknown,
  ][] = [
    ["a new Service with clusterIP gets clusterIPs", { clusterIP: "a" }, undefined, ["a"]],
    ["an update without clusterIPs keeps them", { clusterIP: "10.0.0.1" }, both, both.clusterIPs],
    [
      "an update without clusterIP clears clusterIPs",
      { clusterIPs: both.clusterIPs },
      both,
      undefined,
    ],
    [
      "an update of clusterIP changes clusterIPs",
      { ...both, clusterIP: "10.0.0.2" },
      both,
      ["10.0.0.2"],
    ],
    ["clusterIPs win when both are changed", { clusterIP: "b", clusterIPs: ["c"] }, both, ["c"]],
  ];
  for (const [name, spec, old, ips] of rows) {
    test(name, () => {
      const draft = serviceOf(spec);
      alignClusterIps(draft, old && serviceOf(old));
      assert.deepEqual(draft.spec.clusterIPs, ips);
    });
  }
});

describe("alignClusterIps: families", () => {
  const rows: readonly {
    name: string;
    spec: ServiceSpec;
    old?: ServiceSpec;
    cluster?: ClusterFamilies;
    families?: readonly string[];
    policy?: string;
    faults?: readonly string[];
  }[] = [
    { name: "the cluster's first", spec: {}, families: ["IPv4"], policy: "SingleStack" },
    {
      name: "both where both are wanted",
      spec: { ipFamilyPolicy: "PreferDualStack" },
      cluster: DUAL,
      families: ["IPv4", "IPv6"],
      policy: "PreferDualStack",
    },
    {
      name: "PreferDualStack in a single-stack cluster gives one family",
      spec: { ipFamilyPolicy: "PreferDualStack" },
      families: ["IPv4"],
      policy: "PreferDualStack",
    },
    {
      name: "both for headless services of anyone's endpoints",
      spec: { clusterIP: "None", clusterIPs: ["None"] },
      families: ["IPv4", "IPv6"],
      policy: "RequireDualStack",
    },
    {
      name: "the family of a given clusterIP is taken",
      spec: { clusterIP: "fd00::1", clusterIPs: ["fd00::1"] },
      cluster: DUAL,
      families: ["IPv6"],
      policy: "SingleStack",
    },
    {
      name: "the families of the old Service are kept",
      spec: { ...both, ipFamilies: dual.ipFamilies },
      old: dual,
      cluster: DUAL,
      families: ["IPv4", "IPv6"],
      policy: "RequireDualStack",
    },
    {
      name: "ipFamilyPolicy SingleStack drops the second family",
      spec: { ...dual, ipFamilyPolicy: "SingleStack" },
      old: dual,
      cluster: DUAL,
      families: ["IPv4"],
      policy: "SingleStack",
    },
    {
      name: "none for external names",
      spec: { type: "ExternalName" },
    },
    {
      name: "refused: not in the cluster",
      spec: { ipFamilies: ["IPv6"] },
      faults: ['spec.ipFamilies[0]: Invalid value: "IPv6": not configured on this cluster'],
    },
    {
      name: "refused: an address that is not in the cluster",
      spec: { clusterIP: "fd00::1", clusterIPs: ["fd00::1"] },
      faults: [
        'spec.clusterIPs[0]: Invalid value: ["fd00::1"]: IPv6 is not configured on this cluster',
      ],
    },
    {
      name: "refused: two wanted, one there",
      spec: { ipFamilyPolicy: "RequireDualStack" },
      faults: [
        'spec.ipFamilyPolicy: Invalid value: "RequireDualStack": this cluster is not configured for dual-stack services',
      ],
    },
    {
      name: "refused: released without saying so",
      spec: { ...dual, clusterIPs: ["10.0.0.1"], ipFamilies: ["IPv4"] },
      old: dual,
      cluster: DUAL,
      faults: [
        "spec.ipFamilyPolicy: Invalid value: \"RequireDualStack\": must be 'SingleStack' to release the secondary cluster IP",
        "spec.ipFamilyPolicy: Invalid value: \"RequireDualStack\": must be 'SingleStack' to release the secondary IP family",
      ],
    },
    {
      name: "refused: malformed addresses",
      spec: { clusterIP: "010.0.0.1", clusterIPs: ["010.0.0.1"], ipFamilies: ["IPv5"] },
      faults: [
        'spec.ipFamilies[0]: Unsupported value: "IPv5": supported values: "IPv4", "IPv6"',
        'spec.clusterIPs[0]: Invalid value: "010.0.0.1": must not have leading 0s',
      ],
    },
    {
      name: "refused: an address of another family than said",
      spec: { clusterIP: "10.0.0.1", clusterIPs: ["10.0.0.1"], ipFamilies: ["IPv6"] },
      cluster: DUAL,
      faults: [
        'spec.clusterIPs[0]: Invalid value: "10.0.0.1": expected an IPv6 value as indicated by `ipFamilies[0]`',
      ],
    },
  ];
  for (const { name, spec, old, cluster = SINGLE, families, policy, faults = [] } of rows) {
    test(name, () => {
      const draft = serviceOf(spec);
      const errors = decideFamilies(draft, old && serviceOf(old), cluster);
      assert.deepEqual(
        errors.map((error) => `${error.field}: ${formatFieldError(error)}`),
        faults,
      );
      if (faults.length > 0) return;
      assert.deepEqual(draft.spec.ipFamilies, families);
      assert.equal(draft.spec.ipFamilyPolicy, policy);
    });
  }
});

describe("changes of clusterIPs", () => {
  const rows: readonly [name: string, next: ServiceSpec, old: ServiceSpec, fields: string[]][] = [
    ["the same clusterIPs are accepted", dual, dual, []],
    [
      "clusterIPs[0] may not change",
      { ...dual, clusterIPs: ["10.0.0.2", "fd00::1"] },
      dual,
      ["spec.clusterIPs[0]"],
    ],
    [
      "clusterIPs may not be removed",
      { ipFamilies: dual.ipFamilies },
      dual,
      ["spec.clusterIPs[0]"],
    ],
    [
      "a removed second clusterIP needs another ipFamilyPolicy",
      { ...dual, clusterIPs: ["10.0.0.1"], ipFamilies: ["IPv4"] },
      dual,
      ["spec.ipFamilyPolicy", "spec.ipFamilyPolicy"],
    ],
    [
      "ipFamilies may not be swapped",
      { ...dual, ipFamilies: ["IPv6", "IPv4"] },
      dual,
      ["spec.ipFamilies[0]", "spec.ipFamilies[0]"],
    ],
    ["a Service of type ExternalName may get clusterIPs", dual, { type: "ExternalName" }, []],
  ];
  for (const [name, next, old, fields] of rows) {
    test(name, () => {
      const errors = validateClusterIpChange(serviceOf(next), serviceOf(old));
      assert.deepEqual(
        errors.map(({ field }) => field),
        fields,
      );
    });
  }
});

describe("allocated nodePorts", () => {
  test("an update keeps the allocated nodePorts by the names of the ports, unless used otherwise", () => {
    const draft = serviceOf({
      type: "NodePort",
      ports: [
        { name: "a", port: 1 },
        { name: "b", port: 2 },
        { name: "c", port: 3, nodePort: 30_001 },
      ],
    });
    keepAllocatedValues(
      draft,
      serviceOf({
        type: "NodePort",
        ...both,
        ports: [
          { name: "a", port: 1, nodePort: 30_001 },
          { name: "b", port: 1, nodePort: 30_002 },
        ],
      }),
    );
    assert.equal(draft.spec.clusterIP, "10.0.0.1");
    assert.deepEqual(draft.spec.clusterIPs, both.clusterIPs);
    assert.deepEqual(
      draft.spec.ports?.map(({ nodePort }) => nodePort),
      [undefined, 30_002, 30_001],
    );
  });
});
