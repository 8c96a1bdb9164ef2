/**
 * How full the volumes of pods are, for `/stats/summary` and the metrics `kubelet_volume_stats_*`.
 *
 * Promises:
 * 1. A pod's volumes are measured on request, at most once in AGE_MS (upstream's
 *    volumeStatsAggPeriod).
 * 2. A volume that does not answer in time (a hung NFS server or driver) is left out; nothing waits
 *    for it longer than TIMEOUT_MS, and it is not asked again before it answered.
 */
import { type DiskUsage, diskUsage } from "#host/disk-usage.ts";
import { type FilesystemSpace, filesystemSpace } from "#host/node-usage.ts";
import { messageOf } from "#lib/caught.ts";
import type { Logger } from "#lib/logger.ts";
import type { Clock } from "#lib/time/clock.ts";

const AGE_MS = 60_000;
const TIMEOUT_MS = 5_000;

export interface VolumeStats {
  readonly availableBytes: number;
  readonly capacityBytes: number;
  readonly usedBytes: number;
  readonly inodesFree: number;
  readonly inodes: number;
  readonly inodesUsed: number;
  readonly volumeHealthStats?: { readonly abnormal: boolean };
}

export interface MeasuredVolume {
  readonly name: string;
  readonly pvcRef?: { readonly name: string; readonly namespace: string };
  /** Undefined: the volume cannot tell. */
  measure(): Promise<VolumeStats | undefined>;
}

export interface NamedVolumeStats extends VolumeStats {
  readonly name: string;
  readonly pvcRef?: { readonly name: string; readonly namespace: string };
  readonly timeMs: number;
}

export class VolumeStatsCache {
  readonly #clock: Clock;
  readonly #pods = new Map<string, readonly MeasuredVolume[]>();
  readonly #known = new Map<string, readonly NamedVolumeStats[]>();
  readonly #measuring = new Map<string, Promise<void>>();
  readonly #measuredMs = new Map<string, number>();
  readonly #logger: Logger;

  constructor(clock: Clock, logger: Logger) {
    this.#clock = clock;
    this.#logger = logger;
  }

  setVolumes(uid: string, volumes: readonly MeasuredVolume[]): void {
    this.#pods.set(uid, volumes);
  }

  forget(uid: string): void {
    for (const map of [this.#pods, this.#known, this.#measuredMs]) map.delete(uid);
  }

  /** By the pod's uid. */
  async all(): Promise<ReadonlyMap<string, readonly NamedVolumeStats[]>> {
    await Promise.all([...this.#pods.keys()].map((uid) => this.#refresh(uid)));
    return this.#known;
  }

  async #refresh(uid: string): Promise<void> {
    const nowMs = this.#clock.elapsedMs();
    const measuredMs = this.#measuredMs.get(uid);
    if (measuredMs !== undefined && nowMs - measuredMs < AGE_MS) return;
    const running =
      this.#measuring.get(uid) ??
      this.#measure(uid).finally(() => {
        this.#measuring.delete(uid);
      });
    this.#measuring.set(uid, running);
    await Promise.race([running, this.#clock.sleep(TIMEOUT_MS)]);
  }

  async #measure(uid: string): Promise<void> {
    const volumes = this.#pods.get(uid) ?? [];
    const found = await Promise.all(
      volumes.map(async ({ name, pvcRef, measure }): Promise<readonly NamedVolumeStats[]> => {
        const stats = await measure().catch((error: unknown) => {
          // A volume of which nothing can be read yet, such as one of a driver that restarts.
          const why = messageOf(error);
          this.#logger.warn("Failed to calculate volume metrics", {
            podUID: uid,
            volume: name,
            why,
          });
          return undefined;
        });
        if (stats === undefined) return [];
        const timeMs = this.#clock.nowMs();
        return [{ ...stats, name, timeMs, ...(pvcRef === undefined ? {} : { pvcRef }) }];
      }),
    );
    if (!this.#pods.has(uid)) return;
    this.#known.set(uid, found.flat());
    this.#measuredMs.set(uid, this.#clock.elapsedMs());
  }
}

/** Of a volume that is a file system of its own. */
export function filesystemStats(path: string): Promise<FilesystemSpace> {
  return filesystemSpace(path);
}

/** Of a folder: what its files take, beside what its file system has. */
export async function folderStats(path: string): Promise<VolumeStats> {
  const [space, used] = await Promise.all([filesystemSpace(path), diskUsage([path])]);
  const { bytes, inodes }: DiskUsage = used.get(path) ?? { bytes: 0, inodes: 0 };
  return { ...space, usedBytes: bytes, inodesUsed: inodes };
}
