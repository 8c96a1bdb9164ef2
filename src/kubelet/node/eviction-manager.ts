/**
 * Watches the machine's memory, disks and processes, sets the node's pressure conditions, evicts pods
 * under pressure, and evicts pods that use more ephemeral storage than their limits.
 *
 * Promises:
 * 1. A crossed threshold is noticed within CHECK_MS; while it lasts, one pod is evicted at a time,
 *    and the next only when the first is gone. Under disk pressure dead containers and unused images
 *    are removed first.
 * 2. A pressure condition stays for the transition period after the last time it was seen, so that
 *    nodes do not flap.
 */
import type { Pod } from "#api/generated/core.v1.ts";
import {
  evictionMessage,
  mayEvict,
  type PodUsage,
  type PressureSort,
  pressureOf,
  rankForEviction,
  starvedResource,
} from "#kubelet/decide/node/eviction.ts";
import {
  type Crossed,
  type CrossedSince,
  type Observations,
  observeThresholds,
  type Threshold,
} from "#kubelet/decide/node/eviction-thresholds.ts";
import type { Pressures } from "#kubelet/decide/node/node-status.ts";
import { exceededStorageLimit, hasStorageLimits } from "#kubelet/decide/node/storage-limits.ts";
import type { PodEvents } from "#kubelet/pods/pod-events.ts";
import type { PodWorkers } from "#kubelet/pods/pod-workers.ts";
import { messageOf } from "#lib/caught.ts";
import type { Logger } from "#lib/logger.ts";
import type { Clock } from "#lib/time/clock.ts";
import type { EvictionMeasures } from "./eviction-measures.ts";

const CHECK_MS = 10_000;
/** Pods under pressure do not get their own grace. */
const GRACE_SECONDS = 1;

export interface EvictionOptions {
  readonly thresholds: readonly Threshold[];
  readonly transitionMs: number;
  /** The longest grace of a pod that is evicted for a soft threshold. */
  readonly maxPodGraceSeconds: number;
  readonly enforceStorageLimits: boolean;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly events: PodEvents;
  readonly workers: PodWorkers;
  readonly measures: EvictionMeasures;
  /** Removes what the node itself can do without. */
  reclaimDisk(): Promise<void>;
  /** An event of the node. */
  onNodeEvent(type: "Normal" | "Warning", reason: string, message: string): void;
  /** A pod was evicted because of a signal. */
  onEvicted?(signal: string): void;
  /** The conditions of the node have changed. */
  onChange(): void;
}

export class EvictionManager {
  readonly #options: EvictionOptions;
  readonly #seenMs = new Map<PressureSort, number>();
  #since: CrossedSince = new Map();
  /** The pod that is being evicted. */
  #evicting: string | undefined;

  constructor(options: EvictionOptions) {
    this.#options = options;
  }

  get pressures(): Pressures {
    const isOn = (sort: PressureSort): boolean => {
      const seenMs = this.#seenMs.get(sort);
      const { clock, transitionMs } = this.#options;
      return seenMs !== undefined && clock.elapsedMs() - seenMs < transitionMs;
    };
    return { memory: isOn("memory"), disk: isOn("disk"), pid: isOn("pid") };
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, logger } = this.#options;
    while (!signal.aborted) {
      await clock.sleep(CHECK_MS, signal).catch(() => undefined);
      if (signal.aborted) return;
      try {
        await this.#check();
      } catch (error) {
        if (!signal.aborted) logger.warn("eviction was not checked", { why: messageOf(error) });
      }
    }
  }

  async #check(): Promise<void> {
    const { measures, clock, workers, onChange } = this.#options;
    const before = JSON.stringify(this.pressures);
    const { crossed, due } = this.#observe(await measures.observe());
    for (const one of crossed) this.#seenMs.set(pressureOf(one), clock.elapsedMs());
    if (JSON.stringify(this.pressures) !== before) onChange();
    if (this.#evicting !== undefined && !workers.isActive(this.#evicting)) {
      this.#evicting = undefined;
    }
    if (await this.#enforceStorageLimits()) return;
    const [worst] = due;
    if (worst === undefined || this.#evicting !== undefined) return;
    await this.#relieve(worst);
  }

  #observe(observations: Observations): ReturnType<typeof observeThresholds> {
    const { thresholds, clock } = this.#options;
    const seen = observeThresholds(thresholds, observations, this.#since, clock.elapsedMs());
    this.#since = seen.since;
    return seen;
  }

  async #relieve(worst: Crossed): Promise<void> {
    const { measures, onNodeEvent, reclaimDisk, workers, logger } = this.#options;
    const resource = starvedResource(worst);
    onNodeEvent("Warning", "EvictionThresholdMet", `Attempting to reclaim ${resource}`);
    if (pressureOf(worst) === "disk") {
      await reclaimDisk().catch((error: unknown) =>
        logger.warn("disk space was not reclaimed", { why: messageOf(error) }),
      );
      if (this.#observe(await measures.observe()).due.length === 0) return;
    }
    const [victim] = rankForEviction(await measures.usages(workers.active()), worst);
    if (victim === undefined) return;
    const message = evictionMessage(worst, victim);
    this.#evict(victim.pod, message, this.#graceOf(victim, worst), true);
    this.#options.onEvicted?.(worst.signal);
  }

  #graceOf({ pod }: PodUsage, { isHard }: Crossed): number {
    if (isHard) return GRACE_SECONDS;
    const { maxPodGraceSeconds } = this.#options;
    return Math.min(
      maxPodGraceSeconds,
      pod.spec.terminationGracePeriodSeconds ?? maxPodGraceSeconds,
    );
  }

  /** Whether a pod was evicted. */
  async #enforceStorageLimits(): Promise<boolean> {
    const { enforceStorageLimits, workers, measures } = this.#options;
    if (!enforceStorageLimits) return false;
    const limited = workers.active().filter((pod) => hasStorageLimits(pod) && mayEvict(pod));
    if (limited.length === 0) return false;
    const storage = await measures.storage(limited);
    let isEvicting = false;
    for (const pod of limited) {
      const used = storage.get(pod.metadata.uid ?? "");
      const message = used === undefined ? undefined : exceededStorageLimit(pod, used);
      if (message === undefined) continue;
      this.#evict(pod, message, GRACE_SECONDS, false);
      isEvicting = true;
    }
    return isEvicting;
  }

  #evict(pod: Pod, message: string, graceSeconds: number, isDisruption: boolean): void {
    const { events, workers, logger } = this.#options;
    const uid = pod.metadata.uid ?? "";
    logger.warn("a pod is evicted", { pod: pod.metadata.name, message });
    this.#evicting = uid;
    events.pod(pod, "Warning", "Evicted", message);
    workers.end(uid, {
      ...{ reason: "Evicted", message, graceSeconds },
      ...(isDisruption ? { disruption: { reason: "TerminationByKubelet", message } } : {}),
    });
  }
}
