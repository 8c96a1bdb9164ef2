/**
 * Answers of other servers, for as long as their TTL says, within limits.
 *
 * Promises:
 * 1. No entry is given out after its TTL; the TTL that goes with it is what is left of it.
 * 2. At most `entriesMax` positive and as many negative entries, and `bytesMax` together; the oldest go first.
 */
import { RCODES } from "../wire/codes.ts";
import type { ForeignAnswer } from "../wire/foreign-answer.ts";

export interface AnswerCacheOptions {
  /** Of positive and of negative answers, each. */
  readonly entriesMax: number;
  readonly bytesMax: number;
  readonly ttlMinSeconds: number;
  readonly ttlMaxSeconds: number;
  /** For how long a SERVFAIL is remembered. */
  readonly failureTtlSeconds: number;
}

export const DEFAULT_CACHE: AnswerCacheOptions = {
  entriesMax: 9_984,
  bytesMax: 16 * 1024 * 1024,
  ttlMinSeconds: 5,
  ttlMaxSeconds: 30,
  failureTtlSeconds: 5,
};

export type CacheClass = "success" | "denial";

export interface CachedAnswer {
  readonly answer: ForeignAnswer;
  readonly ttlSeconds: number;
  readonly class: CacheClass;
}

interface Entry {
  readonly answer: ForeignAnswer;
  readonly expiryMs: number;
}

export class AnswerCache {
  readonly #options: AnswerCacheOptions;
  readonly #entries: Readonly<Record<CacheClass, Map<string, Entry>>> = {
    success: new Map(),
    denial: new Map(),
  };
  #bytes = 0;

  constructor(options: AnswerCacheOptions) {
    this.#options = options;
  }

  size(of: CacheClass): number {
    return this.#entries[of].size;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get(key: string, nowMs: number): CachedAnswer | undefined {
    for (const of of ["success", "denial"] as const) {
      const entry = this.#entries[of].get(key);
      if (entry === undefined) continue;
      if (nowMs < entry.expiryMs) {
        const ttlSeconds = Math.ceil((entry.expiryMs - nowMs) / 1000);
        return { answer: entry.answer, ttlSeconds, class: of };
      }
      this.#remove(of, key, entry);
    }
    return undefined;
  }

  /** Keeps the answer if it may be kept. Answers the TTL that its records have from now on. */
  put(key: string, answer: ForeignAnswer, nowMs: number): number {
    const ttlSeconds = this.#ttlOf(answer);
    if (ttlSeconds === 0 || answer.truncated || !CACHED_RCODES.has(answer.rcode)) return ttlSeconds;
    const of = classOf(answer);
    for (const each of ["success", "denial"] as const) {
      const old = this.#entries[each].get(key);
      if (old !== undefined) this.#remove(each, key, old);
    }
    this.#entries[of].set(key, { answer, expiryMs: nowMs + ttlSeconds * 1000 });
    this.#bytes += bytesOf(key, answer);
    while (this.#entries[of].size > this.#options.entriesMax) this.#removeOldest(of);
    while (this.#bytes > this.#options.bytesMax) {
      this.#removeOldest(this.#entries.denial.size > 0 && of === "success" ? "denial" : of);
    }
    return ttlSeconds;
  }

  #ttlOf({ ttlSeconds, rcode }: ForeignAnswer): number {
    const { ttlMinSeconds, ttlMaxSeconds, failureTtlSeconds } = this.#options;
    if (rcode === RCODES.SERVFAIL) return failureTtlSeconds;
    return Math.min(Math.max(ttlSeconds ?? ttlMinSeconds, ttlMinSeconds), ttlMaxSeconds);
  }

  #removeOldest(of: CacheClass): void {
    for (const [key, entry] of this.#entries[of]) {
      this.#remove(of, key, entry);
      return;
    }
  }

  #remove(of: CacheClass, key: string, { answer }: Entry): void {
    this.#entries[of].delete(key);
    this.#bytes -= bytesOf(key, answer);
  }
}

const CACHED_RCODES: ReadonlySet<number> = new Set([
  RCODES.NOERROR,
  RCODES.NXDOMAIN,
  RCODES.SERVFAIL,
]);

/** With about what the objects around the bytes take. */
function bytesOf(key: string, { bytes, records }: ForeignAnswer): number {
  return 200 + 2 * key.length + bytes.length + 80 * records.length;
}

function classOf({ rcode, records }: ForeignAnswer): CacheClass {
  const hasAnswer = records.some(({ section }) => section === "answer");
  return rcode === RCODES.NOERROR && hasAnswer ? "success" : "denial";
}
