/**
 * Metrics of a profile's hooks under upstream's names: how long each extension point took for a pod,
 * how long single plugins took in a tenth of the attempts, and how often plugins were asked.
 */
import type { Counter, Histogram, Metrics } from "#lib/metrics.ts";
import type { Clock } from "#lib/time/clock.ts";
import { FITS, type Verdict, type Wait } from "#scheduler/plugin.ts";
import { exponential } from "./buckets.ts";

export type ExtensionPoint =
  | "PreEnqueue"
  | "PreFilter"
  | "Filter"
  | "PreFilterExtensionAddPod"
  | "PreFilterExtensionRemovePod"
  | "PostFilter"
  | "PreScore"
  | "Score"
  | "ScoreExtensionNormalize"
  | "Reserve"
  | "Unreserve"
  | "Permit"
  | "PreBindPreFlight"
  | "PreBind"
  | "Bind"
  | "PostBind";

export type StatusCode =
  | "Success"
  | "Error"
  | "Unschedulable"
  | "UnschedulableAndUnresolvable"
  | "Wait"
  | "Skip";

/** Where the evaluations of plugins are counted. */
export type EvaluationPoint = "PreFilter" | "Filter" | "PreScore" | "Score";

/** Hears how long the extension points of one profile take. */
export interface ProfileObserver {
  /** The time to hand to `ended`. */
  nowMs(): number;
  ended(point: ExtensionPoint, code: StatusCode, sinceMs: number): void;
  /** Reports the calls of one hook of a plugin. */
  pluginTimer(plugin: string, point: ExtensionPoint): PluginTimer;
  evaluated(plugin: string, point: EvaluationPoint, times: number): void;
}

export type PluginTimer = (code: StatusCode, sinceMs: number) => void;

export const UNOBSERVED: ProfileObserver = {
  nowMs: () => 0,
  ended: () => undefined,
  pluginTimer: () => () => undefined,
  evaluated: () => undefined,
};

/** Registers the families; the answer makes the observer of a profile. */
export function registerExtensionPoints(
  metrics: Metrics,
  clock: Clock,
): (schedulerName: string) => ProfileObserver {
  const points = metrics.histogram({
    name: "scheduler_framework_extension_point_duration_seconds",
    help: "Latency for running all plugins of a specific extension point.",
    labels: ["extension_point", "status", "profile"],
    buckets: exponential(0.0001, 2, 12),
  });
  const plugins = metrics.histogram({
    name: "scheduler_plugin_execution_duration_seconds",
    help: "Duration for running a plugin at a specific extension point.",
    labels: ["plugin", "extension_point", "status"],
    buckets: exponential(0.00001, 1.5, 20),
  });
  const evaluations = metrics.counter({
    name: "scheduler_plugin_evaluation_total",
    help: "Number of attempts to schedule pods by each plugin and the extension point (available only in PreFilter, Filter, PreScore, and Score).",
    labels: ["plugin", "extension_point", "profile"],
  });
  return (profile) => {
    const ofPoint = seriesBy<ExtensionPoint, Histogram>((point, code) =>
      points(point, code, profile),
    );
    const asked = seriesBy<EvaluationPoint, Counter>((point, plugin) =>
      evaluations(plugin, point, profile),
    );
    const since = (sinceMs: number): number => (clock.elapsedMs() - sinceMs) / 1000;
    return {
      nowMs: () => clock.elapsedMs(),
      ended: (point, code, sinceMs) => ofPoint(point, code).observe(since(sinceMs)),
      pluginTimer: (plugin, point) => {
        const byCode = new Map<StatusCode, Histogram>();
        return (code, sinceMs) => {
          let series = byCode.get(code);
          if (series === undefined) {
            series = plugins(plugin, point, code);
            byCode.set(code, series);
          }
          series.observe(since(sinceMs));
        };
      },
      evaluated: (plugin, point, times) => {
        if (times > 0) asked(point, plugin).add(times);
      },
    };
  };
}

/** Looks a series up by two names without joining them. */
function seriesBy<Name extends string, Series>(
  create: (first: Name, second: string) => Series,
): (first: Name, second: string) => Series {
  const known = new Map<Name, Map<string, Series>>();
  return (first, second) => {
    let ofFirst = known.get(first);
    if (ofFirst === undefined) {
      ofFirst = new Map();
      known.set(first, ofFirst);
    }
    let series = ofFirst.get(second);
    if (series === undefined) {
      series = create(first, second);
      ofFirst.set(second, series);
    }
    return series;
  };
}

export function statusCodeOf(verdict: Verdict | Wait | undefined): StatusCode {
  if (verdict === undefined) return "Skip";
  if (verdict === FITS) return "Success";
  if ("waitMs" in verdict) return "Wait";
  if (!("preemptionMayHelp" in verdict)) return "Success";
  return verdict.preemptionMayHelp ? "Unschedulable" : "UnschedulableAndUnresolvable";
}

/** Runs the work of an extension point and reports how long it took; an exception is an error. */
export function timed<T>(
  observer: ProfileObserver,
  point: ExtensionPoint,
  work: () => T,
  codeOf: (result: T) => StatusCode,
): T {
  const sinceMs = observer.nowMs();
  let code: StatusCode = "Error";
  try {
    const result = work();
    code = codeOf(result);
    return result;
  } finally {
    observer.ended(point, code, sinceMs);
  }
}
