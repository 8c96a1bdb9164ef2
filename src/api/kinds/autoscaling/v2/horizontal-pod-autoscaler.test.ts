import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { HorizontalPodAutoscaler } from "#api/generated/autoscaling.v2.ts";
import { cellsOf, runKind } from "#api/testing/run-kind.ts";
import { horizontalPodAutoscalerKind as kind } from "./horizontal-pod-autoscaler.ts";

const TYPES = '"ContainerResource", "External", "Object", "Pods", "Resource"';
const scaleTargetRef = { apiVersion: "apps/v1", kind: "Deployment", name: "d" };
const made = { scaleTargetRef, maxReplicas: 3 };
const write = (spec: object, old?: object) => ({
  object: { spec: { ...made, ...spec } },
  ...(old === undefined ? {} : { old: { spec: { ...made, ...old } } }),
});
const cpu = (target: object) => ({ type: "Resource", resource: { name: "cpu", target } });
const external = (target: object) => ({
  type: "External",
  external: { metric: { name: "m" }, target },
});
const object = (target: object, apiVersion = "v1") => ({
  type: "Object",
  object: {
    describedObject: { apiVersion, kind: "Service", name: "s" },
    metric: { name: "m" },
    target,
  },
});
const percent = { type: "Utilization", averageUtilization: 50 };

describe("HorizontalPodAutoscaler: autoscalers: bounds and target", () => {
  const rows = [
    {
      name: "no upper bound",
      write: write({ maxReplicas: 0 }),
      faults: [
        "spec.maxReplicas: Required value: must be set and greater than 0",
        "spec.maxReplicas: Invalid value: 0: must be greater than or equal to `minReplicas`",
      ],
    },
    {
      name: "a lower bound of nothing",
      write: write({ minReplicas: 0, metrics: [external({ type: "Value", value: 1 })] }),
      faults: ["spec.minReplicas: Invalid value: 0: must be greater than or equal to 1"],
    },
    {
      name: "nothing that wakes it from zero",
      write: write({ minReplicas: 0 }, { minReplicas: 0 }),
      faults: [
        "spec.metrics: Forbidden: must specify at least one Object or External metric to support scaling to zero replicas",
      ],
    },
    {
      name: "nothing to scale",
      write: write({ scaleTargetRef: { kind: "", name: "a/b" } }),
      faults: [
        "spec.scaleTargetRef.kind: Required value",
        "spec.scaleTargetRef.name: Invalid value: \"a/b\": may not contain '/'",
        'spec.scaleTargetRef.apiVersion: Invalid value: "": apiVersion must specify API group',
      ],
    },
    {
      name: "a target in too many groups",
      write: write({ scaleTargetRef: { ...scaleTargetRef, apiVersion: "a/b/c" } }),
      faults: [
        'spec.scaleTargetRef.apiVersion: Invalid value: "a/b/c": unexpected GroupVersion string: a/b/c',
      ],
    },
    {
      name: "replicas below nothing in a status",
      write: {
        object: { spec: made, status: { currentReplicas: -1, desiredReplicas: -2 } },
        old: { spec: made },
        subresource: "status",
      },
      faults: [
        "status.currentReplicas: Invalid value: -1: must be greater than or equal to 0",
        "status.desiredReplicas: Invalid value: -2: must be greater than or equal to 0",
      ],
    },
  ];
  for (const { name, write, faults } of rows) {
    test(`refuse ${name}`, () => assert.deepEqual(runKind(kind, write).faults, faults));
  }

  const fine = [
    {
      name: "replication controllers have no group",
      write: write({
        scaleTargetRef: { apiVersion: "v1", kind: "ReplicationController", name: "r" },
      }),
    },
    {
      name: "a stored target without group may stay",
      write: write(
        { scaleTargetRef: { kind: "Deployment", name: "e" } },
        { scaleTargetRef: { kind: "Deployment", name: "d" } },
      ),
    },
    {
      name: "a stored object of odd version may stay",
      write: write(
        { metrics: [object({ type: "Value", value: 1 }, "a/b/c")] },
        { metrics: [object({ type: "Value", value: 2 }, "a/b/c")] },
      ),
    },
  ];
  for (const { name, write } of fine) {
    test(name, () => assert.deepEqual(runKind(kind, write).faults, []));
  }
});

describe("autoscalers: metrics", () => {
  const rows = [
    {
      name: "a metric of no type",
      metric: { type: "" },
      faults: [
        "type: Required value: must specify a metric source type",
        `type: Unsupported value: "": supported values: ${TYPES}`,
      ],
    },
    {
      name: "a type without its source",
      metric: { type: "Pods" },
      faults: ["pods: Required value: must populate information for the given metric source"],
    },
    {
      name: "two sources",
      metric: { ...cpu(percent), ...external({ type: "Value", value: 1 }), type: "Resource" },
      faults: ["external: Forbidden: must populate the given metric source only"],
    },
    {
      name: "a resource without target",
      metric: cpu({ type: "Value" }),
      faults: [
        "resource.target.averageUtilization: Required value: must set either a target raw value or a target utilization",
      ],
    },
    {
      name: "a resource with two targets",
      metric: cpu({ type: "Utilization", averageUtilization: 0, averageValue: "0" }),
      faults: [
        'resource.target.averageValue: Invalid value: "0": must be positive',
        "resource.target.averageUtilization: Invalid value: 0: must be greater than 0",
        "resource.target.averageValue: Forbidden: may not set both a target raw value and a target utilization",
      ],
    },
    {
      name: "a container's metric of nothing",
      metric: {
        type: "ContainerResource",
        containerResource: { name: "", container: "", target: percent },
      },
      faults: [
        "containerResource.name: Required value: must specify a resource name",
        "containerResource.container: Required value: must specify a container",
      ],
    },
    {
      name: "an external metric with two targets",
      metric: external({ type: "Other", value: 1, averageValue: 1 }),
      faults: [
        'external.target.type: Invalid value: "Other": must be either Utilization, Value, or AverageValue',
        "external.target.value: Forbidden: may not set both a target value for metric and a per-pod target",
      ],
    },
    {
      name: "an external metric without target",
      metric: external({ type: "" }),
      faults: [
        "external.target.type: Required value: must specify a metric target type",
        'external.target.type: Invalid value: "": must be either Utilization, Value, or AverageValue',
        "external.target.averageValue: Required value: must set either a target value for metric or a per-pod target",
      ],
    },
    {
      name: "a metric of pods without name and target",
      metric: { type: "Pods", pods: { metric: { name: "" }, target: { type: "AverageValue" } } },
      faults: [
        "pods.metric.name: Required value: must specify a metric name",
        "pods.target.averageValue: Required value: must specify a positive target averageValue",
      ],
    },
    {
      name: "an object's metric without target",
      metric: object({ type: "Value" }),
      faults: [
        "object.target.averageValue: Required value: must set either a target value or averageValue",
      ],
    },
  ];
  for (const { name, metric, faults } of rows) {
    test(`refuse ${name}`, () =>
      assert.deepEqual(
        runKind(kind, write({ metrics: [metric] })).faults,
        faults.map((fault) => `spec.metrics[0].${fault}`),
      ));
  }
});

describe("HorizontalPodAutoscaler: autoscalers: behavior", () => {
  test("refuse what is out of range", () => {
    const scaleUp = {
      stabilizationWindowSeconds: 3601,
      selectPolicy: "Mean",
      tolerance: "-1",
      policies: [
        { type: "Cores", value: 0, periodSeconds: 0 },
        { type: "Pods", value: 1, periodSeconds: 1801 },
      ],
    };
    const policy = "policies[0]";
    assert.deepEqual(
      runKind(kind, write({ behavior: { scaleUp } })).faults,
      [
        "stabilizationWindowSeconds: Invalid value: 3601: must be less than or equal to 3600",
        'selectPolicy: Unsupported value: "Mean": supported values: "Disabled", "Max", "Min"',
        `${policy}.type: Unsupported value: "Cores": supported values: "Percent", "Pods"`,
        `${policy}.value: Invalid value: 0: must be greater than zero`,
        `${policy}.periodSeconds: Invalid value: 0: must be greater than zero`,
        "policies[1].periodSeconds: Invalid value: 1801: must be less than or equal to 1800",
        'tolerance: Invalid value: "-1": must be greater than or equal to 0',
      ].map((fault) => `spec.behavior.scaleUp.${fault}`),
    );
  });

  test("no policies are not the same as policies that are not said", () => {
    assert.deepEqual(runKind(kind, write({ behavior: { scaleUp: { policies: [] } } })).faults, [
      "spec.behavior.scaleUp.policies: Required value: must specify at least one Policy",
    ]);
  });

  test("defaults fill in what is not said", () => {
    const scaleDown = { stabilizationWindowSeconds: 60 };
    const { spec } = runKind(kind, write({ behavior: { scaleDown } }))
      .object as HorizontalPodAutoscaler;
    assert.deepEqual(spec.minReplicas, 1);
    assert.deepEqual(spec.metrics, [cpu({ type: "Utilization", averageUtilization: 80 })]);
    assert.deepEqual(spec.behavior, {
      scaleUp: {
        stabilizationWindowSeconds: 0,
        selectPolicy: "Max",
        policies: [
          { type: "Pods", value: 4, periodSeconds: 15 },
          { type: "Percent", value: 100, periodSeconds: 15 },
        ],
      },
      scaleDown: {
        stabilizationWindowSeconds: 60,
        selectPolicy: "Max",
        policies: [{ type: "Percent", value: 100, periodSeconds: 15 }],
      },
    });
  });
});

describe("HorizontalPodAutoscaler: autoscalers: cells", () => {
  const rows = [
    {
      name: "a metric without its source",
      metrics: [{ type: "Resource" }, { type: "External" }],
      current: [],
      text: ": <unknown>/<auto>, <unknown>/0",
    },
    {
      name: "no metrics seen yet",
      metrics: [cpu(percent)],
      current: [],
      text: "cpu: <unknown>/50%",
    },
    {
      name: "a Utilization target is shown as cpu: 7%/50%",
      metrics: [cpu(percent)],
      current: [
        { type: "Resource", resource: { name: "cpu", current: { averageUtilization: 7 } } },
      ],
      text: "cpu: 7%/50%",
    },
    {
      name: "an AverageValue target is shown as cpu: 20m/100m",
      metrics: [cpu({ type: "AverageValue", averageValue: "100m" })],
      current: [{ type: "Resource", resource: { name: "cpu", current: { averageValue: "20m" } } }],
      text: "cpu: 20m/100m",
    },
    {
      name: "an average of something external, and more than two",
      metrics: [
        external({ type: "AverageValue", averageValue: "2" }),
        object({ type: "Value", value: "5" }),
        cpu(percent),
      ],
      current: [
        { type: "External", external: { metric: { name: "m" }, current: { averageValue: "1" } } },
      ],
      text: "1/2 (avg), <unknown>/5 + 1 more...",
    },
  ];
  for (const { name, metrics, current, text } of rows) {
    test(name, () => {
      const spec = { ...made, metrics };
      const outcome = runKind(kind, {
        object: {
          spec,
          status: { currentReplicas: 2, desiredReplicas: 2, currentMetrics: current },
        },
        old: { spec },
        subresource: "status",
      });
      assert.deepEqual(cellsOf(kind, outcome), ["x", "Deployment/d", text, "1", 3, 2, "<unknown>"]);
    });
  }
});
