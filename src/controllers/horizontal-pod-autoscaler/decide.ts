/** From what was measured to a size, a status with conditions, and events. Pure. */

import type { Scale } from "#api/generated/autoscaling.v1.ts";
import type {
  HorizontalPodAutoscaler,
  HorizontalPodAutoscalerCondition,
  HorizontalPodAutoscalerStatus,
  MetricStatus,
} from "#api/generated/autoscaling.v2.ts";
import type { Pod } from "#api/generated/core.v1.ts";
import type { KubeObject } from "#api/kind.ts";
import { horizontalPodAutoscalerKind } from "#api/kinds/autoscaling/v2/horizontal-pod-autoscaler.ts";
import { timeFromMs } from "#api/meta/time.ts";
import { semanticEqual } from "#api/validation/immutable.ts";
import {
  because,
  type EventNote,
  type Outcome,
  type RefusalOutcome,
  type RefusedWrite,
  type Resource,
} from "#runtime/controller.ts";
import { noted, updateStatus, updateSubresource, type Write } from "#runtime/writes.ts";
import type { FoundScale } from "../shared/scale-target.ts";
import { type Evaluation, evaluate, tolerancesOf } from "./evaluate.ts";
import { type History, normalize, withChange } from "./limits.ts";
import type { Measured } from "./measurements.ts";
import { selectorFault } from "./selector-fault.ts";
import type { AutoscalerSettings } from "./settings.ts";

/** A metric that could not be read leaves an empty line in its place. */
const UNREAD: MetricStatus = { type: "" };

export interface Memory extends History {
  /** A change that was asked for and is not yet known to have happened. */
  readonly asked?: { readonly from: number; readonly to: number; readonly atMs: number };
}

export interface AutoscalerState {
  readonly autoscaler: HorizontalPodAutoscaler;
  readonly memory: Memory | undefined;
  readonly scale: FoundScale;
  /** Names of autoscalers that point at the same target. */
  readonly rivals: readonly string[];
  /** Pods that the target selects. */
  readonly pods: readonly Pod[];
  /** One for each metric of the spec. */
  readonly measured: readonly Measured[];
}

export interface Decision {
  readonly outcome: Outcome;
  readonly memory: Memory;
  /** The change of the target's scale, if there is one. */
  readonly rescaled?: Rescaled;
}

interface Rescaled {
  readonly from: number;
  readonly to: number;
  readonly reason: string;
  /** Conditions and metrics as they were evaluated before it. */
  readonly conditions: Conditions;
  readonly currentMetrics: readonly MetricStatus[];
}

type Conditions = readonly HorizontalPodAutoscalerCondition[];

export function decide(
  state: AutoscalerState,
  settings: AutoscalerSettings,
  nowMs: number,
): Decision {
  const { autoscaler, scale } = state;
  const before: Conditions = autoscaler.status.conditions ?? [];
  if (!scale.ok) {
    const text = `the HPA controller was unable to get the target's current scale: ${scale.error}`;
    const conditions = set(before, "AbleToScale", "False", "FailedGetScale", text, nowMs);
    const events = [warn(autoscaler, "FailedGetScale", scale.error)];
    const writes = statusWrites(autoscaler, { ...autoscaler.status, conditions });
    const memory = state.memory ?? { recommendations: [], changes: [] };
    const rule = "the scale of the target cannot be read";
    return { outcome: because(rule, { writes, events }), memory };
  }
  const text = "the HPA controller was able to get the target's current scale";
  const conditions = set(before, "AbleToScale", "True", "SucceededGetScale", text, nowMs);
  const current = scale.scale.spec.replicas ?? 0;
  const memory = remember(state.memory, current, autoscaler, nowMs);
  const resize = { autoscaler, ...scale, current, memory, settings, nowMs };
  const { minReplicas = 1, maxReplicas } = autoscaler.spec;
  if (current === 0) {
    const why = "scaling is disabled since the replica count of the target is zero";
    const disabled = set(conditions, "ScalingActive", "False", "ScalingDisabled", why, nowMs);
    return keep(resize, { rule: "the target is scaled to zero", conditions: disabled });
  }
  if (current > maxReplicas) {
    const reason = "Current number of replicas above Spec.MaxReplicas";
    return rescale(resize, maxReplicas, reason, conditions, []);
  }
  if (current < minReplicas) {
    const reason = "Current number of replicas below Spec.MinReplicas";
    return rescale(resize, minReplicas, reason, conditions, []);
  }
  return byMetrics(state, resize, conditions);
}

/** The status and an event say that the scale could not be changed. */
export function decideRefused(
  state: AutoscalerState,
  settings: AutoscalerSettings,
  { write, status }: RefusedWrite,
  nowMs: number,
): RefusalOutcome {
  const { rescaled } = decide(state, settings, nowMs);
  const isScale = write.op === "update" && write.subresource === "scale";
  // After a conflict another client was faster: the next reconcile sees its write.
  if (rescaled === undefined || !isScale || status.reason === "Conflict") return {};
  const { from, to, reason, conditions, currentMetrics } = rescaled;
  const { autoscaler } = state;
  const error = status.message ?? "";
  const text = `the HPA controller was unable to update the target scale: ${error}`;
  const failed = set(conditions, "AbleToScale", "False", "FailedUpdateScale", text, nowMs);
  const { desiredReplicas } = autoscaler.status;
  const kept = statusOf(autoscaler, from, desiredReplicas, currentMetrics, failed);
  const message = `New size: ${to}; reason: ${reason}; error: ${error}`;
  return {
    writes: statusWrites(autoscaler, kept),
    events: [warn(autoscaler, "FailedRescale", message)],
  };
}

interface Resize {
  readonly autoscaler: HorizontalPodAutoscaler;
  readonly scale: Scale;
  readonly resource: Resource;
  readonly current: number;
  readonly memory: Memory;
  readonly settings: AutoscalerSettings;
  readonly nowMs: number;
}

function byMetrics(state: AutoscalerState, resize: Resize, before: Conditions): Decision {
  const { autoscaler, current, scale, nowMs } = resize;
  const bad = selectorFault(scale.status.selector ?? "", state);
  if (bad !== undefined) {
    const { event: reason, error, message } = bad;
    const conditions = set(before, "ScalingActive", "False", bad.reason, message, nowMs);
    const events = [warn(autoscaler, reason, error), uncomputable(autoscaler, error)];
    const rule = "the selector of the target cannot be used";
    return keep(resize, { rule, conditions, events, isUnknown: true });
  }
  const evaluations = evaluateAll(state, resize);
  const failures = evaluations.filter((evaluation) => !evaluation.ok);
  const proposals = evaluations.filter((evaluation) => evaluation.ok);
  const statuses = evaluations.map((evaluation) => (evaluation.ok ? evaluation.status : UNREAD));
  const best = proposals.reduce<(typeof proposals)[number] | undefined>(
    (most, next) => (most === undefined || next.replicas > most.replicas ? next : most),
    undefined,
  );
  const events = failures.map(({ reason, error }) => warn(autoscaler, reason, error));
  const [first] = failures;
  // With a metric missing it is not safe to go down: the missing one might ask for more.
  if (best === undefined || (first !== undefined && best.replicas < current)) {
    const { reason = "", error = "", summary = "" } = first ?? {};
    const message = `the HPA was unable to compute the replica count: ${error}`;
    const conditions = set(before, "ScalingActive", "False", reason, message, nowMs);
    const count = `invalid metrics (${failures.length} invalid out of ${evaluations.length})`;
    events.push(uncomputable(autoscaler, `${count}, first error is: ${summary}`));
    const rule = "metrics are missing, and those that are there do not ask for more";
    return keep(resize, { rule, conditions, currentMetrics: statuses, events, isUnknown: true });
  }
  const found = `the HPA was able to successfully calculate a replica count from ${best.name}`;
  const active = set(before, "ScalingActive", "True", "ValidMetricFound", found, nowMs);
  return toward(resize, best, active, statuses, events);
}

function toward(
  resize: Resize,
  { replicas: wanted, name }: { readonly replicas: number; readonly name: string },
  before: Conditions,
  statuses: readonly MetricStatus[],
  events: readonly EventNote[],
): Decision {
  const { autoscaler, current, settings, nowMs } = resize;
  const { minReplicas: min = 1, maxReplicas: max, behavior } = autoscaler.spec;
  const limits = { min, max, behavior, downscaleSeconds: settings.downscaleSeconds };
  const normal = normalize(wanted, current, limits, resize.memory, nowMs);
  const { stabilized, limited, replicas } = normal;
  const able = set(before, "AbleToScale", "True", stabilized.reason, stabilized.message, nowMs);
  const { status, reason, message } = limited;
  const conditions = set(able, "ScalingLimited", status, reason, message, nowMs);
  const memory = { ...resize.memory, recommendations: normal.recommendations };
  if (replicas === current) {
    const rule = "the metrics, within the limits, ask for as many replicas as there are";
    return keep({ ...resize, memory }, { rule, conditions, currentMetrics: statuses, events });
  }
  const why =
    wanted > current ? `${name} above target` : wanted < current ? "All metrics below target" : "";
  const decision = rescale({ ...resize, memory }, replicas, why, conditions, statuses);
  return { ...decision, outcome: { ...decision.outcome, events } };
}

function evaluateAll(
  state: AutoscalerState,
  { scale, settings, nowMs }: Resize,
): readonly Evaluation[] {
  const target = {
    specReplicas: scale.spec.replicas ?? 0,
    statusReplicas: scale.status.replicas,
    pods: state.pods,
    tolerances: tolerancesOf(state.autoscaler.spec, settings.tolerance),
    settings,
    nowMs,
  };
  return (state.autoscaler.spec.metrics ?? []).map((metric, i) =>
    evaluate(metric, state.measured[i] ?? { ok: false, error: "not measured" }, target),
  );
}

function rescale(
  { autoscaler, scale, resource, current, memory, nowMs }: Resize,
  to: number,
  reason: string,
  before: Conditions,
  currentMetrics: readonly MetricStatus[],
): Decision {
  const message = `the HPA controller was able to update the target scale to ${to}`;
  const conditions = set(before, "AbleToScale", "True", "SucceededRescale", message, nowMs);
  const lastScaleTime = timeFromMs(nowMs);
  const next = statusOf(autoscaler, current, to, currentMetrics, conditions);
  const done: EventNote = {
    about: autoscaler,
    type: "Normal",
    reason: "SuccessfulRescale",
    message: `New size: ${to}; reason: ${reason}`,
  };
  const resized: KubeObject & Scale = { ...scale, spec: { replicas: to } };
  const writes = [
    noted(updateSubresource<KubeObject>(resource, resized, "scale"), { onDone: done }),
    ...statusWrites(autoscaler, { ...next, lastScaleTime }),
  ];
  const rescaled = { from: current, to, reason, conditions: before, currentMetrics };
  return {
    outcome: { writes, because: reason === "" ? "the limits ask for another size" : reason },
    memory: { ...memory, asked: { from: current, to, atMs: nowMs } },
    rescaled,
  };
}

interface Kept {
  readonly rule: string;
  readonly conditions: Conditions;
  readonly currentMetrics?: readonly MetricStatus[];
  readonly events?: readonly EventNote[];
  /** It is not known how many replicas there should be. */
  readonly isUnknown?: boolean;
}

function keep(
  { autoscaler, current, memory }: Resize,
  { rule, conditions, currentMetrics = [], events = [], isUnknown = false }: Kept,
): Decision {
  const desired = isUnknown ? autoscaler.status.desiredReplicas : current;
  const status = statusOf(autoscaler, current, desired, currentMetrics, conditions);
  return { outcome: because(rule, { writes: statusWrites(autoscaler, status), events }), memory };
}

/** Takes over what was asked for at the last look, if it came true. */
function remember(
  memory: Memory | undefined,
  current: number,
  { spec }: HorizontalPodAutoscaler,
  nowMs: number,
): Memory {
  if (memory === undefined || memory.recommendations.length === 0) {
    const recommendations = [{ replicas: current, atMs: nowMs }];
    return { recommendations, changes: memory?.changes ?? [] };
  }
  const { asked, recommendations, changes } = memory;
  if (spec.behavior === undefined || asked?.to !== current) return { recommendations, changes };
  const change = { replicas: asked.to - asked.from, atMs: asked.atMs };
  return { recommendations, changes: withChange(changes, change, spec.behavior) };
}

function statusOf(
  { status }: HorizontalPodAutoscaler,
  currentReplicas: number,
  desiredReplicas: number,
  currentMetrics: readonly MetricStatus[],
  conditions: Conditions,
): HorizontalPodAutoscalerStatus {
  const { lastScaleTime } = status;
  return {
    ...(lastScaleTime === undefined ? {} : { lastScaleTime }),
    currentReplicas,
    desiredReplicas,
    currentMetrics: currentMetrics.length === 0 ? null : currentMetrics,
    conditions,
  };
}

function statusWrites(
  autoscaler: HorizontalPodAutoscaler,
  status: HorizontalPodAutoscalerStatus,
): readonly Write[] {
  if (semanticEqual(autoscaler.status, status)) return [];
  const write = updateStatus(horizontalPodAutoscalerKind, { ...autoscaler, status });
  return [noted(write, { onRefused: warn(autoscaler, "FailedUpdateStatus", "{error}") })];
}

function set(
  conditions: Conditions,
  type: string,
  status: "True" | "False",
  reason: string,
  message: string,
  nowMs: number,
): Conditions {
  const old = conditions.find((condition) => condition.type === type);
  const lastTransitionTime =
    old?.status === status && old.lastTransitionTime ? old.lastTransitionTime : timeFromMs(nowMs);
  const next = { type, status, lastTransitionTime, reason, message };
  return old === undefined ? [...conditions, next] : conditions.map((c) => (c === old ? next : c));
}

function uncomputable(about: HorizontalPodAutoscaler, error: string): EventNote {
  return warn(about, "FailedComputeMetricsReplicas", error);
}

function warn(about: HorizontalPodAutoscaler, reason: string, message: string): EventNote {
  return { about, type: "Warning", reason, message };
}
