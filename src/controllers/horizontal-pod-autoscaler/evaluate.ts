/** What one metric of an autoscaler says: a number of replicas and a line of the status, or why not. */
import type {
  HorizontalPodAutoscalerSpec,
  MetricSpec,
  MetricStatus,
  MetricTarget,
  MetricValueStatus,
} from "#api/generated/autoscaling.v2.ts";
import type { Pod } from "#api/generated/core.v1.ts";
import { formatQuantity, quantityFrom } from "#api/meta/quantity.ts";
import { selectorText } from "../shared/selector-text.ts";
import { type Measured, milliOf } from "./measurements.ts";
import {
  type Proposal,
  replicasForAverage,
  replicasForShare,
  replicasForUtilization,
  replicasForValue,
  type StartSettings,
  type Tolerances,
} from "./replicas.ts";

export interface Target {
  readonly specReplicas: number;
  readonly statusReplicas: number;
  readonly pods: readonly Pod[];
  readonly tolerances: Tolerances;
  readonly settings: StartSettings;
  readonly nowMs: number;
}

export type Evaluation =
  | {
      readonly ok: true;
      readonly replicas: number;
      readonly name: string;
      readonly status: MetricStatus;
    }
  /** `error` is what the condition says, `summary` how the whole look is summed up. */
  | {
      readonly ok: false;
      readonly reason: string;
      readonly error: string;
      readonly summary: string;
    };

export function tolerancesOf(
  { behavior }: HorizontalPodAutoscalerSpec,
  tolerance: number,
): Tolerances {
  const of = (text: string | undefined): number =>
    text === undefined ? tolerance : milliOf(text) / 1000;
  return { up: of(behavior?.scaleUp?.tolerance), down: of(behavior?.scaleDown?.tolerance) };
}

export function evaluate(metric: MetricSpec, measured: Measured, target: Target): Evaluation {
  const { resource, containerResource, pods, object, external } = metric;
  if (resource !== undefined) {
    const { name } = resource;
    const source: UsageSource = {
      ...resource,
      reason: "FailedGetResourceMetric",
      summary: `failed to get ${name} resource metric value`,
      what: "resource",
      statusOf: (current) => ({ type: metric.type, resource: { name, current } }),
    };
    return ofUsage(source, measured, target);
  }
  if (containerResource !== undefined) {
    const { name, container } = containerResource;
    const source: UsageSource = {
      ...containerResource,
      reason: "FailedGetContainerResourceMetric",
      summary: `failed to get ${container} container metric value`,
      what: "container resource",
      statusOf: (current) => ({
        type: metric.type,
        containerResource: { name, container, current },
      }),
    };
    return ofUsage(source, measured, target);
  }
  if (pods !== undefined) return ofPods(metric, pods, measured, target);
  if (object !== undefined) return ofObject(metric, object, measured, target);
  if (external !== undefined) return fromOutside(metric, external, measured, target);
  const error = `unknown metric source type "${metric.type}"`;
  return { ok: false, reason: "InvalidMetricSourceType", error, summary: error };
}

interface UsageSource {
  readonly name: string;
  readonly target: MetricTarget;
  readonly container?: string;
  readonly reason: string;
  readonly summary: string;
  readonly what: string;
  statusOf(current: MetricValueStatus): MetricStatus;
}

function ofUsage(source: UsageSource, measured: Measured, target: Target): Evaluation {
  const { name: resource, reason, summary, what } = source;
  const { averageValue, averageUtilization } = source.target;
  if (averageValue === undefined && averageUtilization === undefined) {
    const error =
      "invalid resource metric source: neither an average utilization target nor an average value (usage) target was set";
    return failed(reason, error, summary);
  }
  const proposal = proposeUsage(source, measured, target);
  if (!proposal.ok) {
    const sought = averageValue === undefined ? "utilization" : "usage";
    return failed(reason, `failed to get ${resource} ${sought}: ${proposal.error}`, summary);
  }
  const { replicas, usageMilli, utilization } = proposal;
  const format = resource === "memory" ? "BinarySI" : "DecimalSI";
  const status = source.statusOf({
    ...(utilization === undefined ? {} : { averageUtilization: utilization }),
    averageValue: formatQuantity(quantityFrom(usageMilli, format, -3)),
  });
  const name =
    averageValue === undefined
      ? `${resource} ${what} utilization (percentage of request)`
      : `${resource} resource`;
  return { ok: true, replicas, name, status };
}

function proposeUsage(
  { name: resource, container, target: { averageValue, averageUtilization } }: UsageSource,
  measured: Measured,
  { specReplicas: currentReplicas, pods, tolerances, settings, nowMs }: Target,
): Proposal {
  if (!measured.ok) return measured;
  const measures = "pods" in measured ? measured.pods : new Map();
  const question = { currentReplicas, measures, pods, tolerances, resource, settings, nowMs };
  if (averageValue !== undefined) return replicasForAverage(question, milliOf(averageValue));
  return replicasForUtilization(question, averageUtilization ?? 0, container);
}

function ofPods(
  { type }: MetricSpec,
  { metric, target: { averageValue = "0" } }: NonNullable<MetricSpec["pods"]>,
  measured: Measured,
  { specReplicas: currentReplicas, pods, tolerances, settings, nowMs }: Target,
): Evaluation {
  const summary = "failed to get pods metric value";
  const reason = "FailedGetPodsMetric";
  if (!measured.ok) return failed(reason, measured.error, summary);
  const measures = "pods" in measured ? measured.pods : new Map();
  const resource = undefined;
  const question = { currentReplicas, measures, pods, tolerances, resource, settings, nowMs };
  const proposal = replicasForAverage(question, milliOf(averageValue));
  if (!proposal.ok) return failed(reason, proposal.error, summary);
  const current = { averageValue: milliText(proposal.usageMilli) };
  const name = `pods metric ${metric.name}`;
  return {
    ok: true,
    replicas: proposal.replicas,
    name,
    status: { type, pods: { metric, current } },
  };
}

function ofObject(
  { type }: MetricSpec,
  { metric, target: aim, describedObject }: NonNullable<MetricSpec["object"]>,
  measured: Measured,
  target: Target,
): Evaluation {
  const summary = "failed to get object metric value";
  const reason = "FailedGetObjectMetric";
  if (!measured.ok) return failed(reason, measured.error, summary);
  const proposal = shared(aim, measured, target);
  if (!proposal.ok) return failed(reason, proposal.error, summary);
  const current = currentOf(aim, proposal.usageMilli);
  const name =
    aim.averageValue === undefined
      ? `${describedObject.kind} metric ${metric.name}`
      : `external metric ${metric.name}(${selectorText(metric.selector)})`;
  const status = { type, object: { metric, current, describedObject } };
  return { ok: true, replicas: proposal.replicas, name, status };
}

function fromOutside(
  { type }: MetricSpec,
  { metric, target: aim }: NonNullable<MetricSpec["external"]>,
  measured: Measured,
  target: Target,
): Evaluation {
  const base = `failed to get ${metric.name} external metric value`;
  const detail =
    aim.averageValue === undefined
      ? `failed to get external metric ${metric.name}`
      : `failed to get ${metric.name} external metric`;
  const summary = `${base}: ${detail}`;
  const reason = "FailedGetExternalMetric";
  if (!measured.ok) return failed(reason, measured.error, summary);
  const proposal = shared(aim, measured, target);
  if (!proposal.ok) return failed(reason, proposal.error, summary);
  const current = currentOf(aim, proposal.usageMilli);
  const name = `external metric ${metric.name}(${selectorText(metric.selector)})`;
  return {
    ok: true,
    replicas: proposal.replicas,
    name,
    status: { type, external: { metric, current } },
  };
}

function shared(
  { value, averageValue }: MetricTarget,
  measured: Extract<Measured, { ok: true }>,
  { specReplicas, statusReplicas, pods, tolerances }: Target,
): Proposal {
  const total = "totalMilli" in measured ? measured.totalMilli : 0;
  if (averageValue !== undefined) {
    return replicasForShare(statusReplicas, total, milliOf(averageValue), tolerances);
  }
  if (value !== undefined) {
    return replicasForValue(specReplicas, pods, total, milliOf(value), tolerances);
  }
  const error =
    "invalid object metric source: neither a value target nor an average value target was set";
  return { ok: false, error };
}

function currentOf({ averageValue }: MetricTarget, usageMilli: number): MetricValueStatus {
  const text = milliText(usageMilli);
  return averageValue === undefined ? { value: text } : { averageValue: text };
}

function milliText(milli: number): string {
  return formatQuantity(quantityFrom(milli, "DecimalSI", -3));
}

function failed(reason: string, error: string, summary: string): Evaluation {
  return { ok: false, reason, error, summary: `${summary}: ${error}` };
}
