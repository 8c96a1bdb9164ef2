/** Metrics of admission under upstream's names: by step, and by plug-in. */
import type { Bind, Histogram, Metrics } from "#lib/metrics.ts";
import type { Operation } from "../admission/admission-request.ts";

const SECONDS = [0.005, 0.025, 0.1, 0.5, 1, 2.5];
const LABELS = ["operation", "rejected", "type"];

/** Called after each call of a step or plug-in. */
export type ObserveAdmission = (rejected: boolean, seconds: number) => void;

export interface AdmissionMetrics {
  step(type: "admit" | "validate", operation: Operation): ObserveAdmission;
  plugin(name: string, type: "admit" | "validate", operation: Operation): ObserveAdmission;
}

export function createAdmissionMetrics(metrics: Metrics): AdmissionMetrics {
  const steps = metrics.histogram({
    name: "apiserver_admission_step_admission_duration_seconds",
    help: "Time that all plug-ins together took, by step.",
    labels: LABELS,
    buckets: SECONDS,
  });
  const latest = metrics.summary({
    name: "apiserver_admission_step_admission_duration_seconds_summary",
    help: "The same, as quantiles of the latest.",
    labels: LABELS,
  });
  const plugins = metrics.histogram({
    name: "apiserver_admission_controller_admission_duration_seconds",
    help: "Time that each plug-in took.",
    labels: ["name", ...LABELS],
    buckets: SECONDS,
  });
  return {
    step(type, operation) {
      const ofSteps = byOutcome((rejected) => steps(operation, rejected, type));
      const ofLatest = byOutcome((rejected) => latest(operation, rejected, type));
      return (rejected, seconds) => {
        ofSteps(rejected, seconds);
        ofLatest(rejected, seconds);
      };
    },
    plugin: (name, type, operation) =>
      byOutcome((rejected) => plugins(name, operation, rejected, type)),
  };
}

/** Outcomes that never were are not shown. */
function byOutcome(bind: (rejected: string) => ReturnType<Bind<Histogram>>): ObserveAdmission {
  let passed: Histogram | undefined;
  let refused: Histogram | undefined;
  return (rejected, seconds) => {
    if (rejected) {
      refused ??= bind("true");
      refused.observe(seconds);
    } else {
      passed ??= bind("false");
      passed.observe(seconds);
    }
  };
}
