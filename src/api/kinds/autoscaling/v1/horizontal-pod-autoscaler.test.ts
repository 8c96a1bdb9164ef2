/** autoscaling/v1 beside v2: nothing is lost on the way, in either direction. */
import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type * as v1 from "#api/generated/autoscaling.v1.ts";
import type * as v2 from "#api/generated/autoscaling.v2.ts";
import { horizontalPodAutoscalerKind } from "#api/kinds/autoscaling/v2/horizontal-pod-autoscaler.ts";
import { runKind } from "#api/testing/run-kind.ts";
import { horizontalPodAutoscalerV1Kind } from "./horizontal-pod-autoscaler.ts";

const { toStored, fromStored } = horizontalPodAutoscalerV1Kind.storedAs!;
const PREFIX = "autoscaling.alpha.kubernetes.io";
const made = {
  scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "d" },
  maxReplicas: 3,
};
const selector = { matchLabels: { a: "b" } };
const describedObject = { apiVersion: "v1", kind: "Service", name: "s" };

function storedOf(spec: object, status: object = {}): v2.HorizontalPodAutoscaler {
  const object = { spec: { ...made, ...spec } };
  return runKind(horizontalPodAutoscalerKind, {
    object: { ...object, status: { currentReplicas: 1, desiredReplicas: 1, ...status } },
    old: object,
    subresource: "status",
  }).object as v2.HorizontalPodAutoscaler;
}

describe("HorizontalPodAutoscaler: v2 through v1 and back", () => {
  const cpu = { type: "Utilization", averageUtilization: 50 };
  const rows = [
    {
      name: "utilization of CPU",
      spec: { metrics: [{ type: "Resource", resource: { name: "cpu", target: cpu } }] },
    },
    {
      name: "metrics of every source survive in annotations",
      spec: {
        metrics: [
          {
            type: "Object",
            object: {
              describedObject,
              metric: { name: "o", selector },
              target: { type: "AverageValue", averageValue: "3" },
            },
          },
          {
            type: "Object",
            object: {
              describedObject,
              metric: { name: "o" },
              target: { type: "Value", value: "3" },
            },
          },
          {
            type: "Pods",
            pods: { metric: { name: "p" }, target: { type: "AverageValue", averageValue: "5" } },
          },
          {
            type: "ContainerResource",
            containerResource: { name: "cpu", target: cpu, container: "c" },
          },
          {
            type: "External",
            external: { metric: { name: "e", selector }, target: { type: "Value", value: "1k" } },
          },
          {
            type: "External",
            external: {
              metric: { name: "e" },
              target: { type: "AverageValue", averageValue: "1" },
            },
          },
          {
            type: "Resource",
            resource: { name: "memory", target: { type: "AverageValue", averageValue: "1Gi" } },
          },
        ],
      },
    },
    {
      name: "spec.behavior survives in an annotation",
      spec: { behavior: { scaleDown: { selectPolicy: "Disabled", tolerance: "500m" } } },
    },
    {
      name: "conditions and current metrics survive in annotations",
      spec: {},
      status: {
        observedGeneration: 2,
        conditions: [
          {
            type: "AbleToScale",
            status: "True",
            lastTransitionTime: "2030-01-01T00:00:00Z",
            reason: "r",
            message: "m",
          },
        ],
        currentMetrics: [
          {
            type: "Resource",
            resource: { name: "cpu", current: { averageValue: "20m", averageUtilization: 7 } },
          },
        ],
      },
    },
  ];
  for (const { name, spec, status } of rows) {
    test(name, () => {
      const stored = storedOf(spec, status);
      const carried = JSON.parse(JSON.stringify(fromStored(stored)));
      assert.deepEqual(toStored(carried), stored);
    });
  }

  test("what v1 has fields for stands in them, the rest in annotations", () => {
    const stored = storedOf({
      metrics: [
        {
          type: "Pods",
          pods: { metric: { name: "p" }, target: { type: "AverageValue", averageValue: "5" } },
        },
        { type: "Resource", resource: { name: "cpu", target: cpu } },
      ],
    });
    const { metadata, spec } = fromStored(stored) as v1.HorizontalPodAutoscaler;
    assert.equal(spec.targetCPUUtilizationPercentage, 50);
    assert.deepEqual(metadata.annotations, {
      [`${PREFIX}/metrics`]: '[{"type":"Pods","pods":{"metricName":"p","targetAverageValue":"5"}}]',
    });
  });
});

describe("v1 through v2", () => {
  const storedAs = (annotations: Record<string, string>, spec: object = {}) => {
    const { object } = runKind(horizontalPodAutoscalerV1Kind, {
      object: { metadata: { annotations }, spec: { ...made, ...spec } },
    });
    return toStored(object) as v2.HorizontalPodAutoscaler;
  };

  test("CPU at 80 % unless something else is said", () => {
    const { spec } = storedAs({});
    assert.equal(spec.metrics?.[0]?.resource?.target.averageUtilization, 80);
    assert.equal(spec.minReplicas, 1);
  });

  test("the user's own annotations stay, those that carry fields go", () => {
    const { metadata, spec } = storedAs(
      { mine: "1", [`${PREFIX}/behavior`]: '{"ScaleUp":{"SelectPolicy":"Min"}}' },
      { targetCPUUtilizationPercentage: 20 },
    );
    assert.deepEqual(metadata.annotations, { mine: "1" });
    assert.equal(spec.behavior?.scaleUp?.selectPolicy, "Min");
    assert.equal(spec.metrics?.[0]?.resource?.target.averageUtilization, 20);
  });

  const nonsense = ["{", "[1]", '[{"type":"Pods","pods":{"targetAverageValue":"x"}}]'];
  for (const text of nonsense) {
    test(`an annotation that says nothing: ${text}`, () => {
      const { spec } = storedAs({ [`${PREFIX}/metrics`]: text });
      assert.deepEqual(
        spec.metrics?.map(({ type }) => type),
        ["Resource"],
      );
    });
  }

  test("v2 itself drops the annotations of v1", () => {
    const { object } = runKind(horizontalPodAutoscalerKind, {
      object: { metadata: { annotations: { [`${PREFIX}/metrics`]: "[]" } }, spec: made },
    });
    assert.equal(object.metadata.annotations, undefined);
  });
});
