/**
 * Keeps the number of replicas from jumping: recent recommendations are remembered and the calmest
 * one wins; policies limit how much may change in a period; the spec has the last word.
 */
import type {
  HorizontalPodAutoscalerBehavior,
  HPAScalingRules,
} from "#api/generated/autoscaling.v2.ts";

const UP_FACTOR = 2;
const UP_MINIMUM = 4;

interface Sample {
  readonly replicas: number;
  readonly atMs: number;
}

/** What is remembered of an autoscaler from one look to the next. */
export interface History {
  readonly recommendations: readonly Sample[];
  /** Changes that were made: positive ones up, negative ones down. */
  readonly changes: readonly Sample[];
}

export interface Limits {
  readonly min: number;
  readonly max: number;
  readonly behavior: HorizontalPodAutoscalerBehavior | undefined;
  readonly downscaleSeconds: number;
}

export interface Normalized {
  readonly replicas: number;
  readonly stabilized: { readonly reason: string; readonly message: string };
  readonly limited: {
    readonly status: "True" | "False";
    readonly reason: string;
    readonly message: string;
  };
  readonly recommendations: readonly Sample[];
}

export function normalize(
  wanted: number,
  current: number,
  limits: Limits,
  history: History,
  nowMs: number,
): Normalized {
  const windows = windowsOf(limits);
  const calm = stabilize(wanted, current, windows, limits.behavior !== undefined, history, nowMs);
  const [replicas, reason, message] =
    limits.behavior === undefined
      ? withinRules(calm, current, limits)
      : withinRates(calm, current, limits, limits.behavior, history, nowMs);
  const keepMs = Math.max(windows.upMs, windows.downMs);
  return {
    replicas,
    stabilized: calm === wanted ? READY : stabilizedBy(wanted, current, limits),
    limited: { status: replicas === calm ? "False" : "True", reason, message },
    recommendations: [
      ...history.recommendations.filter(({ atMs }) => atMs >= nowMs - keepMs),
      { replicas: wanted, atMs: nowMs },
    ],
  };
}

/**
 * The changes with one more. It takes the place of one in the same direction that no policy of that
 * direction asks for any more, as upstream's does; until then policies of the other one may.
 */
export function withChange(
  changes: readonly Sample[],
  change: Sample,
  behavior: HorizontalPodAutoscalerBehavior | undefined,
): readonly Sample[] {
  const isUp = change.replicas > 0;
  const { policies } = (isUp ? behavior?.scaleUp : behavior?.scaleDown) ?? {};
  const periodsMs = (policies ?? []).map(({ periodSeconds }) => periodSeconds * 1000);
  const sinceMs = change.atMs - Math.max(0, ...periodsMs);
  const replaced = changes.findLastIndex(
    ({ replicas, atMs }) => replicas > 0 === isUp && atMs < sinceMs,
  );
  if (replaced < 0) return [...changes, change];
  return changes.map((other, i) => (i === replaced ? change : other));
}

const READY = { reason: "ReadyForNewScale", message: "recommended size matches current size" };
const IN_RANGE = [
  "DesiredWithinRange",
  "the desired count is within the acceptable range",
] as const;
const UP_LIMIT = [
  "ScaleUpLimit",
  "the desired replica count is increasing faster than the maximum scale rate",
] as const;
const DOWN_LIMIT = [
  "ScaleDownLimit",
  "the desired replica count is decreasing faster than the maximum scale rate",
] as const;
const TOO_MANY = [
  "TooManyReplicas",
  "the desired replica count is more than the maximum replica count",
] as const;
const TOO_FEW = [
  "TooFewReplicas",
  "the desired replica count is less than the minimum replica count",
] as const;

type Limited = readonly [replicas: number, reason: string, message: string];

function windowsOf({ behavior, downscaleSeconds }: Limits): {
  readonly upMs: number;
  readonly downMs: number;
} {
  const up = behavior?.scaleUp?.stabilizationWindowSeconds ?? 0;
  const down = behavior?.scaleDown?.stabilizationWindowSeconds ?? downscaleSeconds;
  return { upMs: up * 1000, downMs: down * 1000 };
}

function stabilize(
  wanted: number,
  current: number,
  { upMs, downMs }: { readonly upMs: number; readonly downMs: number },
  hasBehavior: boolean,
  { recommendations }: History,
  nowMs: number,
): number {
  const since = (ms: number): readonly number[] =>
    recommendations.filter(({ atMs }) => atMs > nowMs - ms).map(({ replicas }) => replicas);
  const highest = Math.max(wanted, ...since(downMs));
  if (!hasBehavior) return highest;
  const lowest = Math.min(wanted, ...since(upMs));
  return Math.min(Math.max(current, lowest), highest);
}

function stabilizedBy(
  wanted: number,
  current: number,
  { behavior }: Limits,
): { readonly reason: string; readonly message: string } {
  if (behavior !== undefined && wanted >= current) {
    return {
      reason: "ScaleUpStabilized",
      message:
        "recent recommendations were lower than current one, applying the lowest recent recommendation",
    };
  }
  return {
    reason: "ScaleDownStabilized",
    message:
      "recent recommendations were higher than current one, applying the highest recent recommendation",
  };
}

function withinRules(wanted: number, current: number, { min, max }: Limits): Limited {
  const upLimit = Math.max(UP_FACTOR * current, UP_MINIMUM);
  if (wanted < min) return [min, ...TOO_FEW];
  if (wanted > Math.min(max, upLimit)) {
    return max > upLimit ? [upLimit, ...UP_LIMIT] : [max, ...TOO_MANY];
  }
  return [wanted, ...IN_RANGE];
}

function withinRates(
  wanted: number,
  current: number,
  { min, max }: Limits,
  { scaleUp, scaleDown }: HorizontalPodAutoscalerBehavior,
  { changes }: History,
  nowMs: number,
): Limited {
  if (wanted > current) {
    const limit = Math.max(current, rateLimit(current, scaleUp, 1, changes, nowMs));
    if (wanted > Math.min(max, limit)) {
      return max > limit ? [limit, ...UP_LIMIT] : [max, ...TOO_MANY];
    }
  } else if (wanted < current) {
    const limit = Math.min(current, rateLimit(current, scaleDown, -1, changes, nowMs));
    if (wanted < Math.max(min, limit)) {
      return min < limit ? [limit, ...DOWN_LIMIT] : [min, ...TOO_FEW];
    }
  }
  return [wanted, ...IN_RANGE];
}

/** How far the policies let it go in one direction. */
function rateLimit(
  current: number,
  rules: HPAScalingRules | undefined,
  direction: 1 | -1,
  changes: readonly Sample[],
  nowMs: number,
): number {
  if (rules?.selectPolicy === "Disabled") return current;
  const proposals = (rules?.policies ?? []).map(({ type, value, periodSeconds }) => {
    const startMs = nowMs - periodSeconds * 1000;
    const changed = changes
      .filter(({ atMs }) => atMs > startMs)
      .reduce((total, { replicas }) => total + replicas, 0);
    const before = current - changed;
    if (type === "Pods") return before + direction * value;
    const share = before * (1 + (direction * value) / 100);
    return direction > 0 ? Math.ceil(share) : Math.trunc(share);
  });
  if (proposals.length === 0) return current;
  const farthest = rules?.selectPolicy !== "Min";
  return direction > 0 === farthest ? Math.max(...proposals) : Math.min(...proposals);
}
