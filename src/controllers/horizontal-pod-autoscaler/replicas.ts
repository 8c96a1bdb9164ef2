/**
 * How many replicas bring a metric to its target.
 *
 * Pods that are not measured, or not ready for it, must not make things worse: when there is too
 * little to do they are taken to be at the target, when there is too much to do to be idle; and what
 * they turn the other way round is left as it is.
 */
import type { Container, Pod } from "#api/generated/core.v1.ts";
import { timeToMs } from "#api/meta/time.ts";
import { isReady, readyCondition } from "../shared/pods.ts";
import { milliOf, type PodMeasure } from "./measurements.ts";
import type { AutoscalerSettings } from "./settings.ts";

export interface Tolerances {
  readonly up: number;
  readonly down: number;
}

/** What counts as the start of a pod. */
export type StartSettings = Pick<
  AutoscalerSettings,
  "cpuInitializationMs" | "initialReadinessDelayMs"
>;

export type Proposal =
  | {
      readonly ok: true;
      readonly replicas: number;
      readonly usageMilli: number;
      readonly utilization?: number;
    }
  | { readonly ok: false; readonly error: string };

export interface PodsQuestion {
  readonly currentReplicas: number;
  readonly measures: ReadonlyMap<string, PodMeasure>;
  readonly pods: readonly Pod[];
  readonly tolerances: Tolerances;
  /** For "cpu", samples of pods that have just started are ignored. */
  readonly resource: string | undefined;
  readonly settings: StartSettings;
  readonly nowMs: number;
}

/** Utilization: usage in percent of what the pods request. */
export function replicasForUtilization(
  question: PodsQuestion & { readonly resource: string },
  targetPercent: number,
  container: string | undefined,
): Proposal {
  const requests = new Map<string, number>();
  let fault: string | undefined;
  for (const pod of question.pods) {
    const request = requestOf(pod, question.resource, container);
    if (typeof request === "string") fault ??= request;
    else requests.set(pod.metadata.name ?? "", request);
  }
  const ratioOf = (usage: ReadonlyMap<string, number>) => {
    // That nothing is measured is said before that nothing is requested.
    if (fault !== undefined) return fault;
    const known = [...usage].filter(([name]) => requests.has(name));
    const used = sum(known.map(([, milli]) => milli));
    const requested = sum(known.map(([name]) => requests.get(name) ?? 0));
    if (requested === 0) return "no metrics returned matched known pods";
    const utilization = Math.trunc((used * 100) / requested);
    const usageMilli = Math.trunc(used / known.length);
    return { ratio: utilization / targetPercent, usageMilli, utilization };
  };
  const atTarget = (name: string): number =>
    Math.trunc(((requests.get(name) ?? 0) * Math.max(100, targetPercent)) / 100);
  return propose(question, ratioOf, atTarget);
}

export function replicasForAverage(question: PodsQuestion, targetMilli: number): Proposal {
  const ratioOf = (usage: ReadonlyMap<string, number>) => {
    const usageMilli = Math.trunc(sum([...usage.values()]) / usage.size);
    return { ratio: usageMilli / targetMilli, usageMilli };
  };
  return propose(question, ratioOf, () => targetMilli);
}

/** One number that the ready pods share. */
export function replicasForValue(
  currentReplicas: number,
  pods: readonly Pod[],
  usageMilli: number,
  targetMilli: number,
  tolerances: Tolerances,
): Proposal {
  const ratio = usageMilli / targetMilli;
  if (currentReplicas === 0) return { ok: true, replicas: Math.ceil(ratio), usageMilli };
  if (isWithin(ratio, tolerances)) return { ok: true, replicas: currentReplicas, usageMilli };
  if (pods.length === 0) return { ok: false, error: `unable to calculate ready pods: ${NO_PODS}` };
  const ready = pods.filter((pod) => pod.status.phase === "Running" && isReady(pod)).length;
  return { ok: true, replicas: Math.min(Math.ceil(ratio * ready), 2 ** 31 - 1), usageMilli };
}

/** One number, of which each replica is to bear so much. */
export function replicasForShare(
  statusReplicas: number,
  usageMilli: number,
  targetMilli: number,
  tolerances: Tolerances,
): Proposal {
  const ratio = usageMilli / (targetMilli * statusReplicas);
  const replicas = isWithin(ratio, tolerances)
    ? statusReplicas
    : Math.min(Math.ceil(usageMilli / targetMilli), 2 ** 31 - 1);
  const share = statusReplicas === 0 ? usageMilli : Math.ceil(usageMilli / statusReplicas);
  return { ok: true, replicas, usageMilli: share };
}

const NO_PODS = "no pods returned by selector while calculating replica count";

interface Ratio {
  readonly ratio: number;
  readonly usageMilli: number;
  readonly utilization?: number;
}

function propose(
  question: PodsQuestion,
  ratioOf: (usage: ReadonlyMap<string, number>) => Ratio | string,
  atTarget: (name: string) => number,
): Proposal {
  const { currentReplicas, pods, measures, tolerances } = question;
  if (pods.length === 0) return { ok: false, error: NO_PODS };
  const { ready, unready, missing, ignored } = group(question);
  const usage = new Map([...measures].map(([name, { milli }]) => [name, milli]));
  for (const name of [...ignored, ...unready]) usage.delete(name);
  if (usage.size === 0) {
    const error = "did not receive metrics for targeted pods (pods might be unready)";
    return { ok: false, error };
  }
  const first = ratioOf(usage);
  if (typeof first === "string") return { ok: false, error: first };
  const { ratio, ...seen } = first;
  const answer = (replicas: number): Proposal => ({ ok: true, replicas, ...seen });
  const countsUnready = unready.length > 0 && ratio > 1;
  if (!countsUnready && missing.length === 0) {
    return answer(isWithin(ratio, tolerances) ? currentReplicas : Math.ceil(ratio * ready));
  }
  if (ratio < 1) for (const name of missing) usage.set(name, atTarget(name));
  if (ratio > 1) for (const name of missing) usage.set(name, 0);
  if (countsUnready) for (const name of unready) usage.set(name, 0);
  const second = ratioOf(usage);
  if (typeof second === "string") return { ok: false, error: second };
  const careful = second.ratio;
  const turned = (ratio < 1 && careful > 1) || (ratio > 1 && careful < 1);
  if (isWithin(careful, tolerances) || turned) return answer(currentReplicas);
  const replicas = Math.ceil(careful * usage.size);
  const contrary =
    (careful < 1 && replicas > currentReplicas) || (careful > 1 && replicas < currentReplicas);
  return answer(contrary ? currentReplicas : replicas);
}

function group({ pods, measures, resource, settings, nowMs }: PodsQuestion): {
  readonly ready: number;
  readonly unready: readonly string[];
  readonly missing: readonly string[];
  readonly ignored: readonly string[];
} {
  const unready: string[] = [];
  const missing: string[] = [];
  const ignored: string[] = [];
  for (const pod of pods) {
    const name = pod.metadata.name ?? "";
    const measured = measures.get(name);
    if (pod.metadata.deletionTimestamp !== undefined || pod.status.phase === "Failed") {
      ignored.push(name);
    } else if (pod.status.phase === "Pending") unready.push(name);
    else if (measured === undefined) missing.push(name);
    else if (resource === "cpu" && isStarting(pod, measured, settings, nowMs)) unready.push(name);
  }
  const ready = pods.length - unready.length - missing.length - ignored.length;
  return { ready, unready, missing, ignored };
}

function isStarting(
  pod: Pod,
  { atMs, windowMs }: PodMeasure,
  { cpuInitializationMs, initialReadinessDelayMs }: StartSettings,
  nowMs: number,
): boolean {
  const condition = readyCondition(pod);
  const { startTime } = pod.status;
  if (condition === undefined || !startTime) return true;
  const startMs = timeToMs(startTime);
  const changedMs = condition.lastTransitionTime ? timeToMs(condition.lastTransitionTime) : 0;
  const isDown = condition.status === "False";
  if (startMs + cpuInitializationMs > nowMs) return isDown || atMs < changedMs + windowMs;
  // Down ever since it started: it never was up.
  return isDown && startMs + initialReadinessDelayMs > changedMs;
}

function requestOf(pod: Pod, resource: string, container: string | undefined): number | string {
  const whole = pod.spec.resources?.requests;
  const { name: podName } = pod.metadata;
  if (whole !== undefined && container === undefined) {
    const request = whole[resource];
    if (request === undefined) return `missing pod-level request for ${resource} in Pod ${podName}`;
    return milliOf(request);
  }
  const sidecars = (pod.spec.initContainers ?? []).filter(
    ({ restartPolicy }) => restartPolicy === "Always",
  );
  const all: readonly Container[] = [...(pod.spec.containers ?? []), ...sidecars];
  const counted = all.filter(({ name }) => container === undefined || name === container);
  if (counted.length === 0) return `container ${container} not found in Pod ${podName}`;
  const bare = counted.find(({ resources }) => resources.requests?.[resource] === undefined);
  if (bare !== undefined) {
    return `missing request for ${resource} in container ${bare.name} of Pod ${podName}`;
  }
  return sum(counted.map(({ resources }) => milliOf(resources.requests?.[resource] ?? "0")));
}

function isWithin(ratio: number, { up, down }: Tolerances): boolean {
  return 1 - down <= ratio && ratio <= 1 + up;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
