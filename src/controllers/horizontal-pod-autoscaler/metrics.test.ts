/** Autoscalers on metrics that others serve: of pods, of other objects, from outside. */
import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { deploymentKind } from "#api/apps/v1/deployment.ts";
import { horizontalPodAutoscalerKind } from "#api/autoscaling/v2/horizontal-pod-autoscaler.ts";
import { podKind } from "#api/core/v1/pod.ts";
import type { MetricSpec } from "#api/generated/autoscaling.v2.ts";
import type { Result } from "#api/meta/status.ts";
import type { Reader } from "#runtime/controller.ts";
import { type Cluster, type Draft, startCluster } from "#testing/cluster.ts";
import { horizontalPodAutoscaler } from "./horizontal-pod-autoscaler.ts";

const AT = "2030-01-01T00:00:00Z";
const LONG_AGO = "2029-01-01T00:00:00Z";
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
    name: "a metric that nobody serves",
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
      await using cluster = await world(metric);
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

async function world(metric: Draft<MetricSpec>): Promise<Cluster> {
  const plain = horizontalPodAutoscaler();
  const measured: typeof plain = {
    ...plain,
    observe: (caches, key, reader, ...rest) =>
      plain.observe(caches, key, withMetrics(reader), ...rest),
  };
  const cluster = await startCluster({ at: AT, controllers: [measured] });
  const labels = { app: "web" };
  const ready = { type: "Ready", status: "True" as const, lastTransitionTime: LONG_AGO };
  for (const name of ["p0", "p1"]) {
    await cluster.seed(podKind, {
      metadata: { name, labels },
      spec: { containers: [{ name: "c", image: "i" }] },
      status: { phase: "Running", startTime: LONG_AGO, conditions: [ready] },
    });
  }
  await cluster.seed(deploymentKind, {
    metadata: { name: "web" },
    spec: {
      replicas: 2,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [{ name: "c", image: "i" }] } },
    },
    status: { replicas: 2 },
  });
  await cluster.seed(horizontalPodAutoscalerKind, {
    metadata: { name: "web" },
    spec: {
      scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "web" },
      maxReplicas: 20,
      metrics: [metric],
    },
  });
  return cluster;
}

/** The server, with metrics APIs behind it. */
function withMetrics(reader: Reader): Reader {
  const raw = async (path: string): Promise<Result<unknown>> => {
    const value = SERVER[path];
    return value === undefined ? reader.raw(path) : { ok: true, value };
  };
  return {
    get: reader.get.bind(reader),
    list: reader.list.bind(reader),
    ask: reader.ask.bind(reader),
    raw,
  };
}
