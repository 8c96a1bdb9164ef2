/** Autoscalers on metrics that others serve: of pods, of other objects, from outside. */
import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { MetricSpec } from "#api/generated/autoscaling.v2.ts";
import { deploymentKind } from "#api/kinds/apps/v1/deployment.ts";
import { horizontalPodAutoscalerKind } from "#api/kinds/autoscaling/v2/horizontal-pod-autoscaler.ts";
import type { Draft } from "#testing/cluster.ts";
import { AT, startMeasuredWorld } from "./measured-world.testing.ts";

const CUSTOM = "/apis/custom.metrics.k8s.io";
const OUTSIDE = "/apis/external.metrics.k8s.io/v1beta1/namespaces/default";
const SERVER: Readonly<Record<string, unknown>> = {
  [CUSTOM]: { preferredVersion: { groupVersion: "custom.metrics.k8s.io/v1beta2" } },
  [`${CUSTOM}/v1beta2/namespaces/default/pods/*/queue?labelSelector=app%3Dweb`]: list("10", "20"),
  [`${CUSTOM}/v1beta2/namespaces/default/services/front/hits?`]: list("100"),
  [`${OUTSIDE}/jobs?labelSelector=queue%3Dlong`]: list("60", "40"),
};

function list(...values: readonly string[]): unknown {
  const items = values.map((value, i) => ({
    describedObject: { name: `p${i}` },
    timestamp: AT,
    value,
  }));
  return { items };
}

interface Row {
  readonly name: string;
  readonly metric: Draft<MetricSpec>;
  readonly replicas: number;
  readonly current?: unknown;
  readonly condition?: string;
  readonly message?: string;
}

const front = { apiVersion: "v1", kind: "Service", name: "front" };
const jobs = { name: "jobs", selector: { matchLabels: { queue: "long" } } };

const rows: readonly Row[] = [
  {
    name: "pods: the average of them all",
    metric: {
      type: "Pods",
      pods: { metric: { name: "queue" }, target: { type: "AverageValue", averageValue: "10" } },
    },
    replicas: 3,
    current: { type: "Pods", pods: { metric: { name: "queue" }, current: { averageValue: "15" } } },
  },
  {
    name: "object: its value",
    metric: {
      type: "Object",
      object: {
        describedObject: front,
        metric: { name: "hits" },
        target: { type: "Value", value: "50" },
      },
    },
    replicas: 4,
    current: {
      type: "Object",
      object: { metric: { name: "hits" }, current: { value: "100" }, describedObject: front },
    },
  },
  {
    name: "object: its value shared by the pods",
    metric: {
      type: "Object",
      object: {
        describedObject: front,
        metric: { name: "hits" },
        target: { type: "AverageValue", averageValue: "34" },
      },
    },
    replicas: 3,
  },
  {
    name: "external: the sum of what matches",
    metric: {
      type: "External",
      external: { metric: jobs, target: { type: "Value", value: "50" } },
    },
    replicas: 4,
    current: { type: "External", external: { metric: jobs, current: { value: "100" } } },
  },
  {
    name: "external: shared by the pods",
    metric: {
      type: "External",
      external: { metric: jobs, target: { type: "AverageValue", averageValue: "25" } },
    },
    replicas: 4,
  },
  {
    name: "a metric that is not served",
    metric: {
      type: "External",
      external: { metric: { name: "none" }, target: { type: "Value", value: "50" } },
    },
    replicas: 2,
    condition: "False FailedGetExternalMetric",
    message:
      "unable to get external metric default/none/nil: unable to fetch metrics from external metrics API: the server could not find the requested resource (get none.external.metrics.k8s.io)",
  },
];

describe("autoscaler by metrics of others", () => {
  for (const { name, metric, replicas, current, condition, message } of rows) {
    test(name, async () => {
      await using cluster = await startMeasuredWorld({ metric, answer: (path) => SERVER[path] });
      assert.equal(cluster.get(deploymentKind, "web")?.spec.replicas, replicas);
      const { status } = cluster.get(horizontalPodAutoscalerKind, "web")!;
      if (current !== undefined) assert.deepEqual(status.currentMetrics, [current]);
      const active = status.conditions?.find(({ type }) => type === "ScalingActive");
      const want = condition ?? "True ValidMetricFound";
      assert.equal(`${active?.status} ${active?.reason}`, want);
      if (message !== undefined) assert.equal(cluster.events[0]?.message, message);
    });
  }
});
