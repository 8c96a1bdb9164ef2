import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { PodSpec } from "#api/generated/core.v1.ts";
import { containerFaults, podFaults, runPod } from "#api/testing/run-pod.ts";
import { qosClassOf } from "../qos.ts";

type Fields = Record<string, unknown>;

describe("resources of a container", () => {
  const cases: readonly {
    name: string;
    resources: Fields;
    spec?: Fields;
    want: readonly string[];
  }[] = [
    {
      name: "negative limits and requests are refused",
      resources: { limits: { cpu: "-1" }, requests: { cpu: "-1" } },
      want: [
        'limits[cpu]: Invalid value: "-1": must be greater than or equal to 0',
        'requests[cpu]: Invalid value: "-1": must be greater than or equal to 0',
      ],
    },
    {
      name: "what cannot be shared is requested in full",
      resources: { limits: { "a.b/c": "2" }, requests: { "a.b/c": "1" } },
      want: ['requests: Invalid value: "1": must be equal to a.b/c limit of 2'],
    },
    {
      name: "limits and requests are equal in another notation",
      resources: { limits: { memory: "1Gi" }, requests: { memory: "1073741824" } },
      want: [],
    },
    {
      name: "resources.claims: repeated, unknown and empty names are refused",
      resources: {
        claims: [{ name: "a", request: "r" }, { name: "a" }, { name: "b" }, { name: "" }],
      },
      spec: { resourceClaims: [{ name: "a", resourceClaimName: "x" }] },
      want: [
        'claims[1]: Duplicate value: "a"',
        'claims[2]: Not found: "b": must be one of the names in pod.spec.resourceClaims: a',
        "claims[3]: Required value",
      ],
    },
  ];
  for (const { name, resources, spec = {}, want } of cases) {
    test(name, () => {
      const faults = containerFaults({ resources }, spec);
      assert.deepEqual(
        faults.map((fault) => fault.replace(/^resources\./, "")),
        want,
      );
    });
  }
});

describe("resources of a pod", () => {
  const container = (resources: Fields) => ({ containers: [{ name: "c", image: "i", resources }] });

  test("has no claims, not even an empty list of them", () => {
    assert.deepEqual(podFaults({ resources: { claims: [] } }), [
      "spec.resources.claims: Forbidden: claims may not be set for Resources at pod-level",
    ]);
  });

  test("limits and requests of the pod must cover those of its containers", () => {
    const spec = {
      ...container({ requests: { cpu: "2" }, limits: { cpu: "4", "hugepages-2Mi": "4Mi" } }),
      resources: {
        requests: { cpu: "1" },
        limits: { cpu: "3", memory: "1Gi", "hugepages-2Mi": "2Mi" },
      },
    };
    assert.deepEqual(podFaults(spec), [
      'spec.resources.requests[cpu]: Invalid value: "1": must be greater than or equal to aggregate container requests of 2',
      'spec.resources.requests[hugepages-2Mi]: Invalid value: "2Mi": must be greater than or equal to aggregate container requests of 4Mi',
      'spec.resources.limits[hugepages-2Mi]: Invalid value: "2Mi": must be greater than or equal to aggregate container limits of 4Mi',
      'spec.resources.containers[0][cpu].limits: Invalid value: "4": must be less than or equal to pod limits of 3',
      'spec.resources.containers[0][hugepages-2Mi].limits: Invalid value: "4Mi": must be less than or equal to pod limits of 2Mi',
    ]);
  });

  test("default to what the containers ask for, else to the limits", () => {
    const { object } = runPod({
      ...container({ requests: { cpu: "500m" } }),
      resources: { limits: { cpu: "2", memory: "1Gi" } },
    });
    assert.deepEqual(object.spec.resources?.requests, { cpu: "500m", memory: "1Gi" });
  });

  test("a windows pod has none", () => {
    assert.deepEqual(podFaults({ os: { name: "windows" }, resources: { limits: { cpu: "1" } } }), [
      "spec.resources: Forbidden: may not be set for a windows pod",
    ]);
  });

  test("claims of a pod", () => {
    const resourceClaims = [
      { name: "a" },
      { name: "a", resourceClaimName: "x", resourceClaimTemplateName: "y" },
    ];
    assert.deepEqual(podFaults({ resourceClaims }), [
      'spec.resourceClaims[0]: Invalid value: {"Name":"a","ResourceClaimName":null,"ResourceClaimTemplateName":null}: must specify one of: `resourceClaimName`, `resourceClaimTemplateName`',
      'spec.resourceClaims[1].name: Duplicate value: "a"',
      'spec.resourceClaims[1]: Invalid value: {"Name":"a","ResourceClaimName":"x","ResourceClaimTemplateName":"y"}: at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified',
    ]);
  });
});

describe("qosClass", () => {
  const both = { cpu: "1", memory: "1Gi" };
  const cases: readonly { name: string; resources: Fields[]; pod?: Fields; want: string }[] = [
    { name: "a pod without requests is BestEffort", resources: [{}], want: "BestEffort" },
    {
      name: "a request of 0 is BestEffort",
      resources: [{ requests: { cpu: "0" } }],
      want: "BestEffort",
    },
    {
      name: "limits equal to requests are Guaranteed",
      resources: [{ limits: both, requests: both }],
      want: "Guaranteed",
    },
    {
      name: "limits equal to requests in another notation are Guaranteed",
      resources: [{ limits: both, requests: { cpu: "1000m", memory: "1024Mi" } }],
      want: "Guaranteed",
    },
    {
      name: "a container with cpu limits only makes the pod Burstable",
      resources: [{ limits: { cpu: "1" }, requests: { cpu: "1" } }],
      want: "Burstable",
    },
    {
      name: "one container without limits makes the pod Burstable",
      resources: [{ limits: both, requests: both }, {}],
      want: "Burstable",
    },
    {
      name: "limits and requests of the pod make it Guaranteed",
      resources: [{}],
      pod: { limits: both, requests: both },
      want: "Guaranteed",
    },
    {
      name: "requests of the pod without limits make it Burstable",
      resources: [{}],
      pod: { requests: both },
      want: "Burstable",
    },
  ];
  for (const { name, resources, pod, want } of cases) {
    test(name, () => {
      const containers = resources.map((each, i) => ({ name: `c${i}`, resources: each }));
      const spec: PodSpec = { containers, ...(pod && { resources: pod }) };
      assert.equal(qosClassOf(spec), want);
    });
  }
});
