/** For tests: a cluster with an autoscaler for two pods, and a metrics API that measures them. */

import type { MetricSpec } from "#api/generated/autoscaling.v2.ts";
import { deploymentKind } from "#api/kinds/apps/v1/deployment.ts";
import { horizontalPodAutoscalerKind } from "#api/kinds/autoscaling/v2/horizontal-pod-autoscaler.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import type { Reader } from "#runtime/controller.ts";
import { type Cluster, type Draft, startCluster } from "#testing/cluster.ts";
import { horizontalPodAutoscaler } from "./horizontal-pod-autoscaler.ts";
import { type AutoscalerSettings, DEFAULT_SETTINGS } from "./settings.ts";

export const AT = "2030-01-01T00:00:00Z";
export const LONG_AGO = "2029-01-01T00:00:00Z";

export interface MeasuredWorld {
  readonly metric: Draft<MetricSpec>;
  /** What metrics APIs answer to a path; undefined: no such path. */
  answer(path: string): unknown;
  readonly settings?: AutoscalerSettings;
  /** Since when the pods run. */
  readonly startTime?: string;
}

export async function startMeasuredWorld(world: MeasuredWorld): Promise<Cluster> {
  const { metric, answer, settings, startTime = LONG_AGO } = world;
  const plain = horizontalPodAutoscaler(settings);
  const measured: typeof plain = {
    ...plain,
    observe: (caches, key, reader, ...rest) =>
      plain.observe(caches, key, answering(reader, answer), ...rest),
  };
  const cluster = await startCluster({ at: AT, controllers: [measured] });
  const labels = { app: "web" };
  const containers = [{ name: "c", image: "i", resources: { requests: { cpu: "1" } } }];
  const ready = { type: "Ready", status: "True" as const, lastTransitionTime: startTime };
  for (const name of ["p0", "p1"]) {
    await cluster.seed(podKind, {
      metadata: { name, labels },
      spec: { containers },
      status: { phase: "Running", startTime, conditions: [ready] },
    });
  }
  await cluster.seed(deploymentKind, {
    metadata: { name: "web" },
    spec: {
      replicas: 2,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers } },
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
  await cluster.advance((settings ?? DEFAULT_SETTINGS).periodMs); // its first look
  return cluster;
}

/** The server, with metrics APIs behind it. */
function answering(reader: Reader, answer: MeasuredWorld["answer"]): Reader {
  return {
    get: reader.get.bind(reader),
    list: reader.list.bind(reader),
    watch: reader.watch.bind(reader),
    ask: reader.ask.bind(reader),
    raw: async (path) => {
      const value = answer(path);
      return value === undefined ? reader.raw(path) : { ok: true, value };
    },
  };
}
