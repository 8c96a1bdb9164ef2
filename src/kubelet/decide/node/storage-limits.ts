/** Limits of ephemeral storage: which pod has to go because it, a container or a volume uses too much. */
import type { Pod } from "#api/generated/core.v1.ts";
import { goQuote } from "#api/meta/go-quote.ts";
import { quantityOf, quantityValue } from "#api/meta/quantity.ts";
import { podLimits } from "#api/quota/pod-amounts.ts";

export interface StorageUsage {
  /** emptyDir, configMap, secret, downwardAPI and projected volumes, by name. */
  readonly volumes: ReadonlyMap<string, number>;
  /** Log files and writable layer of each container. */
  readonly containers: ReadonlyMap<string, number>;
}

const RESOURCE = "ephemeral-storage";

/** Whether measuring the pod can lead to anything. */
export function hasStorageLimits(pod: Pod): boolean {
  return (
    podLimits(pod)[RESOURCE] !== undefined ||
    (pod.spec.volumes ?? []).some(({ emptyDir }) => emptyDir?.sizeLimit !== undefined)
  );
}

/** The message of the eviction; undefined while all limits are kept. */
export function exceededStorageLimit(pod: Pod, usage: StorageUsage): string | undefined {
  for (const { name, emptyDir } of pod.spec.volumes ?? []) {
    const limit = emptyDir?.sizeLimit;
    if (limit !== undefined && exceeds(usage.volumes.get(name) ?? 0, limit)) {
      return `Usage of EmptyDir volume ${goQuote(name)} exceeds the limit ${goQuote(limit)}. `;
    }
  }
  const podLimit = podLimits(pod)[RESOURCE];
  const total = [...usage.volumes.values(), ...usage.containers.values()].reduce(
    (a, b) => a + b,
    0,
  );
  if (podLimit !== undefined && total > quantityValue(quantityOf(podLimit))) {
    return `Pod ephemeral local storage usage exceeds the total limit of containers ${podLimit}. `;
  }
  for (const { name, resources } of pod.spec.containers ?? []) {
    const limit = resources?.limits?.[RESOURCE];
    if (limit !== undefined && exceeds(usage.containers.get(name) ?? 0, limit)) {
      return `Container ${name} exceeded its local ephemeral storage limit ${goQuote(limit)}. `;
    }
  }
  return undefined;
}

/** A limit of 0 is none. */
function exceeds(bytes: number, limit: string): boolean {
  const limitBytes = quantityValue(quantityOf(limit));
  return limitBytes > 0 && bytes > limitBytes;
}
