/** The kinds of scheduling.k8s.io. */
import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { PodGroup } from "#api/generated/scheduling.v1alpha2.ts";
import { runKind } from "#api/testing/run-kind.ts";
import { priorityClassKind } from "./v1/priority-class.ts";
import { podGroupKind } from "./v1alpha2/pod-group.ts";
import { workloadKind } from "./v1alpha2/workload.ts";

describe("priority classes", () => {
  const rows = [
    {
      name: "a name of the system",
      write: { object: { metadata: { name: "system-x" }, value: 1 } },
      faults: [
        "metadata.name: Forbidden: priority class names with 'system-' prefix are reserved for system use only. error: system-x is not a known system priority class",
      ],
    },
    {
      name: "the system's own class with another value",
      write: { object: { metadata: { name: "system-node-critical" }, value: 1 } },
      faults: [
        "metadata.name: Forbidden: priority class names with 'system-' prefix are reserved for system use only. error: value of system-node-critical PriorityClass must be 2000001000",
      ],
    },
    {
      name: "a value in the system's range",
      write: { object: { value: 1_000_000_001 } },
      faults: ["value: Forbidden: maximum allowed value of a user defined priority is 1000000000"],
    },
    {
      name: "another value and policy",
      write: { object: { value: 2, preemptionPolicy: "Never" }, old: { value: 1 } },
      faults: [
        "value: Forbidden: may not be changed in an update.",
        'preemptionPolicy: Invalid value: "Never": field is immutable',
      ],
    },
  ];
  for (const { name, write, faults } of rows) {
    test(`refuse ${name}`, () =>
      assert.deepEqual(runKind(priorityClassKind, write).faults, faults));
  }
});

describe("pod groups", () => {
  const basic = { schedulingPolicy: { basic: {} } };
  const rows = [
    {
      name: "no policy",
      write: { object: { spec: {} } },
      faults: ['spec.schedulingPolicy: Invalid value: "": must specify one of: `basic`, `gang`'],
    },
    {
      name: "two schedulingPolicies, minCount 0",
      write: { object: { spec: { schedulingPolicy: { basic: {}, gang: { minCount: 0 } } } } },
      faults: [
        'spec.schedulingPolicy: Invalid value: "{basic, gang}": must specify exactly one of: `basic`, `gang`',
        "spec.schedulingPolicy.gang.minCount: Required value",
      ],
    },
    {
      name: "a template of nothing",
      write: { object: { spec: { ...basic, podGroupTemplateRef: {} } } },
      faults: ['spec.podGroupTemplateRef: Invalid value: "": must specify one of: `workload`'],
    },
    {
      name: "another policy",
      write: {
        object: { spec: { schedulingPolicy: { gang: { minCount: 2 } } } },
        old: { spec: basic },
      },
      faults: ["spec.schedulingPolicy: Invalid value: null: field is immutable"],
    },
    {
      name: "a condition twice",
      write: {
        object: {
          spec: basic,
          status: {
            conditions: Array.from({ length: 2 }, () => ({
              type: "A",
              status: "True",
              reason: "R",
              lastTransitionTime: "2030-01-01T00:00:00Z",
            })),
          },
        },
        old: { spec: basic },
        subresource: "status",
      },
      faults: ['status.conditions[1].type: Duplicate value: "A"'],
    },
  ];
  for (const { name, write, faults } of rows) {
    test(`refuse ${name}`, () => assert.deepEqual(runKind(podGroupKind, write).faults, faults));
  }

  test("fields of features that are off are dropped", () => {
    const { object } = runKind(podGroupKind, { object: { spec: { ...basic, priority: 5 } } });
    assert.deepEqual((object as PodGroup).spec, { podGroupTemplateRef: null, ...basic });
  });

  test("the columns show policy, workload and phase", () => {
    const { object } = runKind(podGroupKind, { object: { spec: basic } });
    assert.deepEqual(
      podGroupKind.columns.map((column) => column.cell(object, 0)),
      ["x", "Basic", "<none>", "Pending", "<unknown>"],
    );
  });
});

describe("workloads", () => {
  const template = (name: string) => ({ name, schedulingPolicy: { basic: {} } });
  const rows = [
    {
      name: "no templates",
      write: { object: { spec: {} } },
      faults: ["spec.podGroupTemplates: Required value"],
    },
    {
      name: "templates of the same name",
      write: { object: { spec: { podGroupTemplates: [template("a"), template("a")] } } },
      faults: [
        'spec.podGroupTemplates[1]: Duplicate value: {"name":"a","schedulingPolicy":{"basic":{}},"schedulingConstraints":null}',
      ],
    },
    {
      name: "too many templates",
      write: {
        object: {
          spec: {
            podGroupTemplates: Array.from({ length: 9 }, (_, i) => template(`t${i}`)),
          },
        },
      },
      faults: ["spec.podGroupTemplates: Too many: 9: must have at most 8 items"],
    },
    {
      name: "a controller without kind and name",
      write: {
        object: {
          spec: { podGroupTemplates: [template("a")], controllerRef: { apiGroup: "A" } },
        },
      },
      faults: [
        "spec.controllerRef.apiGroup: Invalid value: \"A\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
        "spec.controllerRef.kind: Required value",
        "spec.controllerRef.name: Required value",
      ],
    },
    {
      name: "other templates",
      write: {
        object: { spec: { podGroupTemplates: [template("b")] } },
        old: { spec: { podGroupTemplates: [template("a")] } },
      },
      faults: ["spec.podGroupTemplates: Invalid value: null: field is immutable"],
    },
  ];
  for (const { name, write, faults } of rows) {
    test(`refuse ${name}`, () => assert.deepEqual(runKind(workloadKind, write).faults, faults));
  }
});
