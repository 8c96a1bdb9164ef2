/**
 * Image garbage collection: which unused images are removed, because the disk is nearly full or
 * because nothing used them for long. The image that was not used for the longest time goes first.
 */

export interface ImageRecord {
  readonly id: string;
  readonly sizeBytes: number;
  /** Never removed: the runtime needs it. */
  readonly isPinned: boolean;
  readonly isInUse: boolean;
  readonly firstSeenMs: number;
  /** The last time that a container used it; 0: never seen in use. */
  readonly lastUsedMs: number;
}

export interface ImageGcPolicy {
  readonly highPercent: number;
  readonly lowPercent: number;
  readonly minimumAgeMs: number;
  /** 0: images do not age. */
  readonly maximumAgeMs: number;
}

export interface ImageGcInputs {
  readonly images: readonly ImageRecord[];
  readonly policy: ImageGcPolicy;
  readonly disk: { readonly capacityBytes: number; readonly availableBytes: number };
  readonly nowMs: number;
  /** Ages count from here: uses before it are not known. */
  readonly beganMs: number;
}

export interface ImageGcDecision {
  /** In order: too old. */
  readonly removeForAge: readonly ImageRecord[];
  /** In order, until `bytesToFree` are free. */
  readonly removeForSpace: readonly ImageRecord[];
  readonly bytesToFree: number;
  readonly usedPercent: number;
}

export function decideImageGc(inputs: ImageGcInputs): ImageGcDecision {
  const { policy, nowMs, beganMs } = inputs;
  const unused = inEvictionOrder(inputs.images);
  const ages = policy.maximumAgeMs > 0 && nowMs - beganMs > policy.maximumAgeMs;
  const isOld = ({ lastUsedMs }: ImageRecord): boolean =>
    ages && nowMs - lastUsedMs > policy.maximumAgeMs;
  const { capacityBytes, availableBytes } = inputs.disk;
  const usedPercent =
    capacityBytes === 0
      ? 0
      : 100 - Math.trunc((Math.min(availableBytes, capacityBytes) * 100) / capacityBytes);
  const bytesToFree =
    usedPercent >= policy.highPercent
      ? Math.trunc((capacityBytes * (100 - policy.lowPercent)) / 100) - availableBytes
      : 0;
  return {
    removeForAge: unused.filter(isOld),
    removeForSpace:
      bytesToFree > 0
        ? enough(
            unused.filter(
              (image) => !isOld(image) && nowMs - image.firstSeenMs >= policy.minimumAgeMs,
            ),
            bytesToFree,
          )
        : [],
    bytesToFree,
    usedPercent,
  };
}

/** Those that may go under disk pressure: every unused image, whatever its age. */
export function inEvictionOrder(images: readonly ImageRecord[]): ImageRecord[] {
  return images
    .filter(({ isPinned, isInUse }) => !isPinned && !isInUse)
    .sort((a, b) => a.lastUsedMs - b.lastUsedMs || a.firstSeenMs - b.firstSeenMs);
}

function enough(images: readonly ImageRecord[], bytesToFree: number): ImageRecord[] {
  const chosen: ImageRecord[] = [];
  let freed = 0;
  for (const image of images) {
    if (freed >= bytesToFree) break;
    chosen.push(image);
    freed += image.sizeBytes;
  }
  return chosen;
}
