/**
 * autoscaling/v1 HorizontalPodAutoscaler: stored as v2. What v1 has no field for (all metrics but
 * CPU utilization, behavior, conditions) travels as JSON in annotations, so that a client of v1
 * that reads, changes and writes loses nothing.
 */

import type * as v1 from "#api/generated/autoscaling.v1.ts";
import type * as v2 from "#api/generated/autoscaling.v2.ts";
import type { ObjectMeta } from "#api/generated/meta.v1.ts";
import { type Column, defineKind } from "#api/kind.ts";
import { autoscalerColumns } from "#api/kinds/autoscaling/v2/columns.ts";
import {
  DEFAULT_CPU_UTILIZATION,
  ROUND_TRIP_ANNOTATIONS,
} from "#api/kinds/autoscaling/v2/horizontal-pod-autoscaler.ts";
import { builtInSchema } from "#api/schema/from-facts.ts";
import { internalForm } from "#api/validation/internal-form.ts";
import { nameIsDnsSubdomain } from "#api/validation/names.ts";
import { readAnnotation } from "./annotation-json.ts";
import { metricStatusToV1, metricStatusToV2, metricToV1, metricToV2 } from "./metric-conversion.ts";

export const horizontalPodAutoscalerV1Kind = defineKind<v1.HorizontalPodAutoscaler>({
  group: "autoscaling",
  version: "v1",
  names: {
    kind: "HorizontalPodAutoscaler",
    plural: "horizontalpodautoscalers",
    short: ["hpa"],
    categories: ["all"],
  },
  scope: "Namespaced",
  schema: builtInSchema("autoscaling.v1.HorizontalPodAutoscaler"),
  nameRule: nameIsDnsSubdomain,
  unconditionalUpdate: true,
  defaults: ({ spec }) => {
    spec.minReplicas ??= 1;
  },
  subresources: { status: { prepareUpdate: () => {} } },
  columns: autoscalerColumns.map(
    ({ cell, ...column }): Column<v1.HorizontalPodAutoscaler> => ({
      ...column,
      cell: (object, nowMs) => cell(toV2(object), nowMs),
    }),
  ),
  storedAs: {
    group: "autoscaling",
    version: "v2",
    toStored: toV2,
    fromStored: (stored) => toV1(stored as v2.HorizontalPodAutoscaler),
  },
});

function toV2(object: v1.HorizontalPodAutoscaler): v2.HorizontalPodAutoscaler {
  const { metadata, spec, status } = object;
  const { annotations = {} } = metadata;
  const metrics = cpuMetric(spec.targetCPUUtilizationPercentage);
  const others = readAnnotation<readonly v1.MetricSpec[]>(annotations, "metrics");
  const behavior = readAnnotation<v2.HorizontalPodAutoscalerBehavior>(annotations, "behavior");
  const { targetCPUUtilizationPercentage: _, ...sameSpec } = spec;
  const all = [...(others ?? []).map(metricToV2), ...metrics];
  return {
    ...object,
    apiVersion: "autoscaling/v2",
    metadata: withAnnotations(metadata),
    spec: {
      ...sameSpec,
      metrics: all.length > 0 ? all : cpuMetric(DEFAULT_CPU_UTILIZATION),
      ...(behavior !== undefined && Object.keys(behavior).length > 0 ? { behavior } : {}),
    },
    status: statusToV2(status, annotations),
  };
}

function statusToV2(
  status: v1.HorizontalPodAutoscalerStatus,
  annotations: Readonly<Record<string, string>>,
): v2.HorizontalPodAutoscalerStatus {
  const { currentCPUUtilizationPercentage: cpu, ...same } = status;
  const current = readAnnotation<readonly v1.MetricStatus[]>(annotations, "currentMetrics");
  const conditions = readAnnotation<readonly v2.HorizontalPodAutoscalerCondition[]>(
    annotations,
    "conditions",
  );
  const cpuStatus: v2.MetricStatus[] =
    cpu === undefined
      ? []
      : [{ type: "Resource", resource: { name: "cpu", current: { averageUtilization: cpu } } }];
  const currentMetrics = current?.map(metricStatusToV2) ?? cpuStatus;
  return {
    ...same,
    currentMetrics: currentMetrics.length > 0 ? currentMetrics : null,
    ...(conditions === undefined ? {} : { conditions }),
  };
}

function toV1(object: v2.HorizontalPodAutoscaler): v1.HorizontalPodAutoscaler {
  const { metadata, spec, status } = object;
  const { metrics = [], behavior, ...sameSpec } = spec;
  const cpu = metrics.find(isCpuUtilization)?.resource?.target.averageUtilization;
  const { currentMetrics, conditions = [], ...sameStatus } = status;
  const currentCpu = (currentMetrics ?? []).findLast(
    ({ type, resource }) =>
      type === "Resource" &&
      resource?.name === "cpu" &&
      resource.current.averageUtilization !== undefined,
  )?.resource?.current.averageUtilization;

  const carried: Record<string, string> = {};
  const carry = (key: keyof typeof ROUND_TRIP_ANNOTATIONS, value: unknown) => {
    carried[ROUND_TRIP_ANNOTATIONS[key]] = JSON.stringify(value);
  };
  const others = metrics.filter((metric) => !isCpuUtilization(metric));
  if (others.length > 0) carry("metrics", others.map(metricToV1));
  if ((currentMetrics ?? []).length > 0) {
    carry("currentMetrics", currentMetrics!.map(metricStatusToV1));
  }
  if (behavior !== undefined) {
    carry("behavior", internalForm("autoscaling.v2.HorizontalPodAutoscalerBehavior", behavior));
  }
  if (conditions.length > 0) carry("conditions", conditions);
  return {
    ...object,
    apiVersion: "autoscaling/v1",
    metadata: withAnnotations(metadata, carried),
    spec: { ...sameSpec, ...(cpu === undefined ? {} : { targetCPUUtilizationPercentage: cpu }) },
    status: {
      ...sameStatus,
      currentReplicas: status.currentReplicas ?? 0,
      ...(currentCpu === undefined ? {} : { currentCPUUtilizationPercentage: currentCpu }),
    },
  };
}

function cpuMetric(averageUtilization: number | undefined): v2.MetricSpec[] {
  if (averageUtilization === undefined) return [];
  const target = { type: "Utilization", averageUtilization };
  return [{ type: "Resource", resource: { name: "cpu", target } }];
}

function isCpuUtilization({ type, resource }: v2.MetricSpec): boolean {
  return (
    type === "Resource" &&
    resource?.name === "cpu" &&
    resource.target.averageUtilization !== undefined
  );
}

/** The user's own annotations, with `carried` beside them; no key at all when none is left. */
function withAnnotations(
  { annotations = {}, ...metadata }: ObjectMeta,
  carried: Readonly<Record<string, string>> = {},
): ObjectMeta {
  const ours: readonly string[] = Object.values(ROUND_TRIP_ANNOTATIONS);
  const kept = Object.entries(annotations).filter(([key]) => !ours.includes(key));
  const entries = [...kept, ...Object.entries(carried)].sort(([a], [b]) => (a < b ? -1 : 1));
  return entries.length === 0
    ? metadata
    : { ...metadata, annotations: Object.fromEntries(entries) };
}
