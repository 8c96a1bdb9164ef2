/**
 * Removes unused images: by age and by the thresholds of disk use every five minutes, and all of them
 * when the eviction manager asks for space.
 *
 * What is known of an image (first seen, last used) lives as long as this kubelet. Images that were
 * there before it count as old. Ages are measured by a clock that does not jump.
 */
import type { ImageService, RuntimeService } from "#kubelet/cri/cri-client.ts";
import {
  decideImageGc,
  type ImageGcPolicy,
  type ImageRecord,
  inEvictionOrder,
} from "#kubelet/decide/node/image-gc.ts";
import { messageOf } from "#lib/caught.ts";
import type { Logger } from "#lib/logger.ts";
import type { Clock } from "#lib/time/clock.ts";

const PERIOD_MS = 300_000;

export interface ImageCollectorOptions {
  readonly runtime: Pick<RuntimeService, "listContainers">;
  readonly images: Pick<ImageService, "listImages" | "removeImage">;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly policy: ImageGcPolicy;
  /** Of the file system that holds the images. */
  disk(): Promise<{ readonly capacityBytes: number; readonly availableBytes: number }>;
  /** The images of image volumes, as the pods name them. */
  volumeImages(): Iterable<string>;
  /** An image was removed. */
  onCollected?(reason: "age" | "space"): void;
  /** These images are there; the list was read after `untilMs` of the wall clock. */
  onListed?(ids: ReadonlySet<string>, untilMs: number): Promise<void>;
  /** An event of the node. */
  onEvent(type: "Normal" | "Warning", reason: string, message: string): void;
}

interface Seen {
  readonly firstMs: number;
  usedMs: number;
}

export class ImageCollector {
  readonly #options: ImageCollectorOptions;
  /** By the id of an image; entries of images that are gone are dropped. */
  readonly #seen = new Map<string, Seen>();
  readonly #beganMs: number;
  #hasLooked = false;

  constructor(options: ImageCollectorOptions) {
    this.#options = options;
    this.#beganMs = options.clock.elapsedMs();
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, logger } = this.#options;
    while (!signal.aborted) {
      try {
        await this.collect();
      } catch (error) {
        if (signal.aborted) return;
        logger.warn("image garbage collection failed", { why: messageOf(error) });
        this.#options.onEvent("Warning", "ImageGCFailed", messageOf(error));
      }
      await clock.sleep(PERIOD_MS, signal).catch(() => undefined);
    }
  }

  async collect(): Promise<void> {
    const { clock, policy, onEvent } = this.#options;
    const nowMs = clock.elapsedMs();
    const images = await this.#look(nowMs);
    const disk = await this.#options.disk();
    if (disk.capacityBytes === 0) {
      const message = "invalid capacity 0 on image filesystem";
      onEvent("Warning", "InvalidDiskCapacity", message);
      throw new Error(message);
    }
    const decision = decideImageGc({ images, policy, disk, nowMs, beganMs: this.#beganMs });
    await this.#remove(decision.removeForAge, "age");
    const freed = await this.#remove(decision.removeForSpace, "space");
    if (freed >= decision.bytesToFree) return;
    const { usedPercent } = decision;
    const message = `Insufficient free disk space on the node's image filesystem (${usedPercent}% of ${sizeText(disk.capacityBytes)} used). Failed to free sufficient space by deleting unused images (freed ${freed} bytes). Investigate disk usage, as it could be used by active images, logs, volumes, or other data.`;
    onEvent("Warning", "FreeDiskSpaceFailed", message);
    throw new Error(message);
  }

  /** Under disk pressure: every image that nothing uses and that is old enough to have been used. */
  async removeUnused(): Promise<void> {
    const { clock, policy } = this.#options;
    const nowMs = clock.elapsedMs();
    const unused = inEvictionOrder(await this.#look(nowMs));
    const old = unused.filter((one) => nowMs - one.firstSeenMs >= policy.minimumAgeMs);
    await this.#remove(old, "space");
  }

  async #look(nowMs: number): Promise<ImageRecord[]> {
    const { runtime, images, clock, onListed } = this.#options;
    const untilMs = clock.nowMs();
    const [{ containers }, listed] = await Promise.all([
      runtime.listContainers({}),
      images.listImages({}),
    ]);
    const used = new Set([
      ...containers.flatMap(({ imageRef, imageId, image }) => [
        ...[imageRef, imageId, image?.image ?? ""],
      ]),
      ...this.#options.volumeImages(),
    ]);
    const present = new Set(listed.images.map(({ id }) => id));
    await onListed?.(present, untilMs);
    for (const id of this.#seen.keys()) if (!present.has(id)) this.#seen.delete(id);
    const records = listed.images.map(({ id, size, pinned, repoTags, repoDigests }) => {
      const seen = this.#seen.get(id) ?? {
        firstMs: this.#hasLooked ? nowMs : Number.NEGATIVE_INFINITY,
        usedMs: Number.NEGATIVE_INFINITY,
      };
      const isInUse = [id, ...repoTags, ...repoDigests].some((name) => used.has(name));
      if (isInUse) seen.usedMs = nowMs;
      this.#seen.set(id, seen);
      return {
        ...{ id, sizeBytes: size, isPinned: pinned, isInUse },
        ...{ firstSeenMs: seen.firstMs, lastUsedMs: seen.usedMs },
      };
    });
    this.#hasLooked = true;
    return records;
  }

  /** Answers the bytes that were freed. */
  async #remove(chosen: readonly ImageRecord[], reason: "age" | "space"): Promise<number> {
    const { images, logger, onCollected } = this.#options;
    let freed = 0;
    for (const { id, sizeBytes } of chosen) {
      logger.info("an unused image is removed", { image: id, bytes: sizeBytes });
      await images.removeImage({ image: { image: id } });
      this.#seen.delete(id);
      onCollected?.(reason);
      freed += sizeBytes;
    }
    return freed;
  }
}

/** `19.6 GiB` */
function sizeText(bytes: number): string {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  const power = Math.min(units.length - 1, Math.floor(Math.log2(Math.max(1, bytes)) / 10));
  return power === 0 ? `${bytes} B` : `${(bytes / 1024 ** power).toFixed(1)} ${units[power]}`;
}
