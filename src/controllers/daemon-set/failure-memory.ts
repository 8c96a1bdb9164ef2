/**
 * How often daemon pods have failed on a node lately. Failed pods are deleted, so the cluster itself
 * does not tell; without a memory a node that refuses a pod would be asked again without end.
 */
import type { DaemonSet } from "#api/generated/apps.v1.ts";
import type { Pod } from "#api/generated/core.v1.ts";
import { timeToMs } from "#api/meta/time.ts";
import { finishedAtMs } from "../pods.ts";

const FIRST_DELAY_MS = 1_000;
const DELAY_MAX_MS = 900_000;
/** A failure after so long a time of peace is a first one again. */
const FORGET_AFTER_MS = 2 * DELAY_MAX_MS;
const ENTRIES_MAX = 10_000;

interface Entry {
  readonly uid: string;
  readonly removableAtMs: number;
  /** For the next one. */
  readonly delayMs: number;
}

export class FailureMemory {
  readonly #entries = new Map<string, Entry>();

  /** When a failed pod may be deleted to make place for the next: the first one at once. */
  removableAtMs(set: DaemonSet, nodeName: string, pod: Pod): number {
    const id = `${set.metadata.uid}/${set.status.observedGeneration ?? 0}/${nodeName}`;
    const last = this.#entries.get(id);
    const uid = pod.metadata.uid ?? "";
    if (last?.uid === uid) return last.removableAtMs;
    const entry = nextEntry(last, uid, pod);
    this.#entries.delete(id);
    this.#entries.set(id, entry);
    if (this.#entries.size > ENTRIES_MAX) {
      const oldest = this.#entries.keys().next();
      if (!oldest.done) this.#entries.delete(oldest.value);
    }
    return entry.removableAtMs;
  }
}

/** A pod is made when the one before is deleted, so the pause counts from its creation. */
function nextEntry(last: Entry | undefined, uid: string, pod: Pod): Entry {
  const { creationTimestamp } = pod.metadata;
  const createdAtMs = creationTimestamp === undefined ? 0 : timeToMs(creationTimestamp);
  if (last === undefined || finishedAtMs(pod) - createdAtMs > FORGET_AFTER_MS) {
    return { uid, removableAtMs: createdAtMs, delayMs: FIRST_DELAY_MS };
  }
  return {
    uid,
    removableAtMs: createdAtMs + last.delayMs,
    delayMs: Math.min(last.delayMs * 2, DELAY_MAX_MS),
  };
}
