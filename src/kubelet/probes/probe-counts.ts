/** `/metrics/probes`: how often probes were made, with which result, and how long they took. */
import type { Pod } from "#api/generated/core.v1.ts";
import { type Family, metricText, type Sample } from "#kubelet/stats/metric-text.ts";

const BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

export interface ProbeMade {
  readonly pod: Pod;
  readonly container: string;
  readonly type: "Liveness" | "Readiness" | "Startup";
  readonly result: "successful" | "failed" | "unknown";
  readonly seconds: number;
}

interface Count {
  readonly made: Omit<ProbeMade, "result" | "seconds">;
  readonly results: Map<ProbeMade["result"], number>;
  readonly buckets: number[];
  sumSeconds: number;
  successes: number;
}

/** Counts are kept for as long as the pod is on the node. */
export class ProbeCounts {
  /** By pod, container and type of probe. */
  readonly #counts = new Map<string, Count>();

  add({ pod, container, type, result, seconds }: ProbeMade): void {
    const key = `${pod.metadata.uid}/${container}/${type}`;
    const count = this.#counts.get(key) ?? newCount({ pod, container, type });
    this.#counts.set(key, count);
    count.results.set(result, (count.results.get(result) ?? 0) + 1);
    if (result !== "successful") return;
    count.successes += 1;
    count.sumSeconds += seconds;
    for (const [i, limit] of BUCKETS.entries()) if (seconds <= limit) count.buckets[i]! += 1;
  }

  forget(uid: string): void {
    for (const key of this.#counts.keys()) if (key.startsWith(`${uid}/`)) this.#counts.delete(key);
  }

  text(): string {
    const all = [...this.#counts.values()];
    const total: Family = {
      ...{ name: "prober_probe_total", type: "counter" },
      help: "[BETA] Cumulative number of a liveness, readiness or startup probe for a container by result.",
      samples: all.flatMap(({ made, results }) =>
        [...results].map(([result, value]) => {
          const { namespace = "", name = "", uid = "" } = made.pod.metadata;
          const who = { container: made.container, namespace, pod: name, pod_uid: uid };
          return { labels: { ...who, probe_type: made.type, result }, value };
        }),
      ),
    };
    const duration: Family = {
      ...{ name: "prober_probe_duration_seconds", type: "histogram" },
      help: "[ALPHA] Duration in seconds for a probe response.",
      samples: all.flatMap(histogramSamples),
    };
    return metricText([duration, total]);
  }
}

function newCount(made: Count["made"]): Count {
  return { made, results: new Map(), buckets: BUCKETS.map(() => 0), sumSeconds: 0, successes: 0 };
}

function histogramSamples({ made, buckets, sumSeconds, successes }: Count): Sample[] {
  const { namespace = "", name = "" } = made.pod.metadata;
  const labels = { container: made.container, namespace, pod: name, probe_type: made.type };
  const limits = [
    ...BUCKETS.map((limit, i) => ({ le: String(limit), value: buckets[i]! })),
    { le: "+Inf", value: successes },
  ];
  return [
    ...limits.map(({ le, value }) => ({ suffix: "_bucket", labels: { ...labels, le }, value })),
    { suffix: "_sum", labels, value: sumSeconds },
    { suffix: "_count", labels, value: successes },
  ];
}
