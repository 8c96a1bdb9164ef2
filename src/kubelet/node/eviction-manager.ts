/**
 * Watches the machine's memory and disks, sets the node's pressure conditions and evicts pods.
 *
 * Promises:
 * 1. A crossed threshold is noticed within CHECK_MS; while it lasts, one pod is evicted at a time,
 *    and the next only when the first is gone.
 * 2. A pressure condition stays for the transition period after the last time it was seen, so that
 *    nodes do not flap.
 */
import type { Pod } from "#api/generated/core.v1.ts";
import { diskSpace, machineMemory } from "#host/machine.ts";
import type { RuntimeService } from "#kubelet/cri/cri-client.ts";
import {
  crossedThresholds,
  evictionMessage,
  type Observations,
  type PodUsage,
  type PressureSort,
  pressureOf,
  rankForEviction,
} from "#kubelet/decide/eviction.ts";
import type { Pressures } from "#kubelet/decide/node-status.ts";
import type { PodEvents } from "#kubelet/pods/pod-events.ts";
import type { PodWorkers } from "#kubelet/pods/pod-workers.ts";
import { POD_UID } from "#kubelet/runtime/labels.ts";
import { messageOf } from "#lib/caught.ts";
import type { Clock } from "#lib/clock.ts";
import type { Logger } from "#lib/logger.ts";

const CHECK_MS = 10_000;
/** Pods under pressure do not get their own grace. */
const GRACE_SECONDS = 1;

export interface EvictionOptions {
  readonly thresholds: Readonly<Record<string, string>>;
  readonly transitionMs: number;
  readonly rootDir: string;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly events: PodEvents;
  readonly runtime: Pick<RuntimeService, "listContainerStats">;
  readonly workers: PodWorkers;
  /** The conditions of the node have changed. */
  onChange(): void;
}

export class EvictionManager {
  readonly #options: EvictionOptions;
  readonly #seenMs = new Map<PressureSort, number>();
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
    const { thresholds, clock, workers, onChange } = this.#options;
    const before = JSON.stringify(this.pressures);
    const crossed = crossedThresholds(thresholds, await this.#observe());
    for (const one of crossed) this.#seenMs.set(pressureOf(one), clock.elapsedMs());
    if (JSON.stringify(this.pressures) !== before) onChange();
    if (this.#evicting !== undefined && !workers.isActive(this.#evicting)) {
      this.#evicting = undefined;
    }
    const [worst] = crossed;
    if (worst === undefined || this.#evicting !== undefined) return;
    const [victim] = rankForEviction(await this.#usages(), pressureOf(worst));
    if (victim === undefined) return;
    const message = evictionMessage(worst);
    this.#evict(victim.pod, message);
  }

  #evict(pod: Pod, message: string): void {
    const { events, workers, logger } = this.#options;
    const uid = pod.metadata.uid ?? "";
    logger.warn("a pod is evicted", { pod: pod.metadata.name, message });
    this.#evicting = uid;
    events.pod(pod, "Warning", "Evicted", message);
    workers.end(uid, {
      ...{ reason: "Evicted", message, graceSeconds: GRACE_SECONDS },
      disruption: { reason: "TerminationByKubelet", message },
    });
  }

  async #observe(): Promise<Observations> {
    const [memory, disk] = await Promise.all([machineMemory(), diskSpace(this.#options.rootDir)]);
    return {
      "memory.available": { available: memory.availableBytes, capacity: memory.totalBytes },
      "nodefs.available": { available: disk.availableBytes, capacity: disk.totalBytes },
      "nodefs.inodesFree": { available: disk.freeInodes, capacity: disk.totalInodes },
    };
  }

  async #usages(): Promise<PodUsage[]> {
    const { runtime, workers } = this.#options;
    const { stats } = await runtime.listContainerStats({});
    const memory = new Map<string, number>();
    const disk = new Map<string, number>();
    for (const { attributes, memory: used, writableLayer } of stats) {
      const uid = attributes?.labels[POD_UID] ?? "";
      add(memory, uid, used?.workingSetBytes?.value);
      add(disk, uid, writableLayer?.usedBytes?.value);
    }
    return workers.active().map((pod) => ({
      pod,
      memoryBytes: memory.get(pod.metadata.uid ?? ""),
      diskBytes: disk.get(pod.metadata.uid ?? ""),
    }));
  }
}

function add(sums: Map<string, number>, uid: string, value: bigint | undefined): void {
  sums.set(uid, (sums.get(uid) ?? 0) + Number(value ?? 0n));
}
