/** How many pods the kubelet has, by where they come from and how far they are, under upstream's names. */
import type { Pod } from "#api/generated/core.v1.ts";
import type { Metrics } from "#lib/metrics.ts";

export type PodLifecycle = "sync" | "terminating" | "terminated";
/** Whether a source still has the pod; `runtime_only`: only the container runtime knew it. */
export type PodOrigin = "desired" | "orphan" | "runtime_only";

export interface CountedPod {
  readonly pod: Pod;
  readonly lifecycle: PodLifecycle;
  readonly origin: PodOrigin;
  readonly isStatic: boolean;
  /** Its resources count when other pods are admitted. */
  readonly isActive: boolean;
}

export interface PodCountSources {
  pods(): readonly CountedPod[];
  /** Mirror pods that the API server has of this node. */
  mirrors(): number;
}

const LIFECYCLES: readonly PodLifecycle[] = ["sync", "terminating", "terminated"];
/** Upstream's labels: what only the runtime knew may have been either. */
const ORIGINS: readonly (readonly [origin: PodOrigin, isStatic: string])[] = [
  ["desired", "true"],
  ["desired", ""],
  ["orphan", "true"],
  ["orphan", ""],
  ["runtime_only", "unknown"],
];

/** Counted when the page is read. */
export function addPodOriginCounts(metrics: Metrics, { pods, mirrors }: PodCountSources): void {
  const byStatic = (name: string, help: string, counts: (pod: CountedPod) => boolean): void =>
    metrics.gaugesOf({ name: `kubelet_${name}`, help, labels: ["static"] }, () =>
      ["", "true"].map((label) => ({
        labels: [label],
        value: pods().filter((one) => counts(one) && staticLabel(one) === label).length,
      })),
    );
  byStatic("desired_pods", "Pods that a source wants to run here.", ({ origin }) => {
    return origin === "desired";
  });
  byStatic("active_pods", "Pods that count when others are admitted.", ({ isActive }) => isActive);
  metrics.gaugeOf(
    { name: "kubelet_mirror_pods", help: "Mirror pods, one for each static pod." },
    mirrors,
  );
  metrics.gaugesOf(
    {
      name: "kubelet_working_pods",
      help: "Pods that have a worker, by lifecycle, by whether a source still has them, and by origin.",
      labels: ["lifecycle", "config", "static"],
    },
    () => workingPods(pods()),
  );
  metrics.gaugeOf(
    {
      name: "kubelet_managed_ephemeral_containers",
      help: "Ephemeral containers of the node's pods.",
    },
    () => pods().reduce((sum, { pod }) => sum + (pod.spec.ephemeralContainers ?? []).length, 0),
  );
}

function workingPods(
  pods: readonly CountedPod[],
): readonly { readonly labels: readonly string[]; readonly value: number }[] {
  return ORIGINS.flatMap(([origin, label]) =>
    LIFECYCLES.map((lifecycle) => {
      const isOne = (one: CountedPod): boolean =>
        one.lifecycle === lifecycle &&
        one.origin === origin &&
        (origin === "runtime_only" || staticLabel(one) === label);
      return { labels: [lifecycle, origin, label], value: pods.filter(isOne).length };
    }),
  );
}

function staticLabel({ isStatic }: CountedPod): string {
  return isStatic ? "true" : "";
}
