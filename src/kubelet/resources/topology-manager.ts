/**
 * The topology manager: allocates devices, CPUs and memory to a pod at admission, on NUMA nodes that
 * suit all of them.
 *
 * Promises:
 * 1. Pods are admitted one after the other; what a refused pod was given is given back.
 * 2. Everything allocated is on the disk before the pod is admitted.
 */
import type { Container, Pod } from "#api/generated/core.v1.ts";
import type { AdmissionVerdict } from "#kubelet/decide/node/admit-pod.ts";
import { AdmissionError, refusal } from "#kubelet/decide/resources/admission-error.ts";
import {
  type MergeOptions,
  mergeHints,
  type ProviderHints,
  type TopologyHint,
} from "#kubelet/decide/resources/topology-hints.ts";
import type { ManagerMetrics } from "#kubelet/node/manager-metrics.ts";
import { KeyedTurns } from "#kubelet/plugins/keyed-turns.ts";
import type { Clock } from "#lib/time/clock.ts";
import { containersOf, type HintProvider } from "./hint-provider.ts";

export interface TopologyManagerOptions {
  /** In the order in which they allocate. */
  readonly providers: readonly HintProvider[];
  /** Undefined: resources are not aligned. */
  readonly merge: MergeOptions | undefined;
  readonly scope: "container" | "pod";
  readonly clock: Pick<Clock, "elapsedMs">;
  readonly metrics: Pick<ManagerMetrics, "aligned" | "topologyAdmission">;
}

const NO_HINT: TopologyHint = { affinity: undefined, preferred: false };

export class TopologyManager {
  readonly #options: TopologyManagerOptions;
  readonly #turns = new KeyedTurns();

  constructor(options: TopologyManagerOptions) {
    this.#options = options;
  }

  async admit(pod: Pod): Promise<AdmissionVerdict> {
    const { clock, metrics } = this.#options;
    const startMs = clock.elapsedMs();
    const verdict = await this.#decide(pod);
    metrics.topologyAdmission(clock.elapsedMs() - startMs, !verdict.admitted);
    return verdict;
  }

  async #decide(pod: Pod): Promise<AdmissionVerdict> {
    const providers = this.#options.providers.filter((one) => one.concerns(pod));
    if (providers.length === 0) return { admitted: true };
    return this.#turns.run("", async () => {
      try {
        await this.#allocate(pod, providers);
        for (const provider of providers) await provider.commit();
        return { admitted: true };
      } catch (error) {
        for (const provider of providers) provider.forget(pod.metadata.uid ?? "");
        return refusal(error);
      }
    });
  }

  async #allocate(pod: Pod, providers: readonly HintProvider[]): Promise<void> {
    const { merge, scope, metrics } = this.#options;
    const isGuaranteed = merge?.policy === "single-numa-node";
    const count = (isAligned: boolean): void => {
      if (isGuaranteed) metrics.aligned(scope, "numa_node", isAligned);
    };
    const hintOf = (hints: (provider: HintProvider) => ProviderHints): TopologyHint => {
      if (merge === undefined) return NO_HINT;
      const { hint, admitted } = mergeHints(providers.map(hints), merge);
      if (admitted) return hint;
      count(false);
      throw new AdmissionError(
        "TopologyAffinityError",
        "Resources cannot be allocated with Topology locality",
      );
    };
    const podHint = scope === "pod" ? hintOf((one) => one.podHints(pod)) : undefined;
    for (const container of containersOf(pod)) {
      const hint = podHint ?? hintOf((one) => one.containerHints(pod, container));
      await allocateAll(providers, pod, container, hint);
      if (scope === "container") count(true);
    }
    if (scope === "pod") count(true);
  }
}

async function allocateAll(
  providers: readonly HintProvider[],
  pod: Pod,
  container: Container,
  hint: TopologyHint,
): Promise<void> {
  for (const provider of providers) await provider.allocate(pod, container, hint);
}
