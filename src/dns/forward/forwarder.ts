/**
 * Answers for names outside the cluster, from upstream servers.
 *
 * Promises:
 * 1. An answer comes from the cache while its TTL lasts, otherwise from one of the upstreams: the first
 *    is chosen at random, the next is asked when one fails, until `deadlineMs` is over.
 * 2. At most `concurrentMax` questions are on their way; more are refused at once.
 * 3. The same question is asked once at a time, however many clients wait for it. A forwarding loop
 *    therefore waits for itself once and ends in a timeout; it does not multiply.
 * 4. An upstream that leads back to this server is not used (`markLooping`).
 */

import type { Random } from "#lib/random.ts";
import type { Clock } from "#lib/time/clock.ts";
import type { ForeignAnswer } from "../wire/foreign-answer.ts";
import type { Edns, Query } from "../wire/parse-query.ts";
import { AnswerCache, type AnswerCacheOptions, DEFAULT_CACHE } from "./answer-cache.ts";
import { askUpstream } from "./ask-upstream.ts";
import type { ForwardMetrics } from "./forward-metrics.ts";
import type { Upstream } from "./resolv-conf.ts";

export interface ForwarderOptions {
  readonly upstreams: readonly Upstream[];
  readonly clock: Clock;
  readonly random: Random;
  readonly metrics: ForwardMetrics;
  readonly cache?: AnswerCacheOptions;
  /** Which upstream is asked first; any unless given. */
  readonly policy?: "random" | "sequential";
  /** Called once, before an upstream is asked for the first time. */
  onFirstQuestion?(): void;
  readonly concurrentMax?: number;
  /** For one upstream. */
  readonly timeoutMs?: number;
  /** For a question, whatever the number of upstreams. */
  readonly deadlineMs?: number;
}

export type Forwarded =
  | { readonly outcome: "answer"; readonly answer: ForeignAnswer; readonly ttlSeconds: number }
  /** No upstream answered. */
  | { readonly outcome: "failed" }
  /** Too many questions are on their way, or there is no upstream. */
  | { readonly outcome: "refused" };

const CONCURRENT_MAX = 1_000;
const TIMEOUT_MS = 2_000;
const DEADLINE_MS = 5_000;
const ID_COUNT = 65_536;

export class Forwarder {
  readonly #options: ForwarderOptions;
  readonly #cache: AnswerCache;
  readonly #pending = new Map<string, Promise<Forwarded>>();
  readonly #looping = new Set<Upstream>();
  #wasAsked = false;

  constructor(options: ForwarderOptions) {
    this.#options = options;
    this.#cache = new AnswerCache(options.cache ?? DEFAULT_CACHE);
    options.metrics.showEntries((of) => this.#cache.size(of));
  }

  get upstreams(): readonly Upstream[] {
    return this.#options.upstreams.filter((upstream) => !this.#looping.has(upstream));
  }

  markLooping(upstream: Upstream): void {
    this.#looping.add(upstream);
  }

  /** Without waiting where the cache has it. */
  resolve(query: Query, signal: AbortSignal): Forwarded | Promise<Forwarded> {
    const { clock, metrics, concurrentMax = CONCURRENT_MAX } = this.#options;
    const key = keyOf(query);
    const cached = this.#cache.get(key, clock.elapsedMs());
    if (cached !== undefined) {
      metrics.hit(cached.class);
      return { outcome: "answer", answer: cached.answer, ttlSeconds: cached.ttlSeconds };
    }
    metrics.miss();
    const pending = this.#pending.get(key);
    if (pending !== undefined) return pending;
    if (this.upstreams.length === 0) return { outcome: "refused" };
    if (this.#pending.size >= concurrentMax) {
      metrics.rejected();
      return { outcome: "refused" };
    }
    if (!this.#wasAsked) this.#options.onFirstQuestion?.();
    this.#wasAsked = true;
    const asked = this.#askAll(key, query, signal).finally(() => this.#pending.delete(key));
    this.#pending.set(key, asked);
    return asked;
  }

  async #askAll(key: string, query: Query, signal: AbortSignal): Promise<Forwarded> {
    const { clock, random, policy } = this.#options;
    const { deadlineMs = DEADLINE_MS, timeoutMs = TIMEOUT_MS } = this.#options;
    const endMs = clock.elapsedMs() + deadlineMs;
    const { upstreams } = this;
    const first = policy === "sequential" ? 0 : random.integer(upstreams.length);
    // Each upstream is asked at least once, and again while there is time, as CoreDNS does.
    for (let attempt = 0; !signal.aborted; attempt++) {
      const leftMs = endMs - clock.elapsedMs();
      if (leftMs < ATTEMPT_MS_MIN || attempt >= ATTEMPTS_MAX) break;
      const upstream = upstreams[(first + attempt) % upstreams.length]!;
      const answer = await this.#ask(upstream, query, Math.min(timeoutMs, leftMs), signal);
      if (answer === undefined) continue;
      const ttlSeconds = this.#cache.put(key, answer, clock.elapsedMs());
      return { outcome: "answer", answer, ttlSeconds };
    }
    return { outcome: "failed" };
  }

  async #ask(
    upstream: Upstream,
    query: Query,
    timeoutMs: number,
    signal: AbortSignal,
  ): Promise<ForeignAnswer | undefined> {
    const { clock, random, metrics } = this.#options;
    const startMs = clock.elapsedMs();
    const id = random.integer(ID_COUNT);
    try {
      const answer = await askUpstream(upstream, query, { clock, timeoutMs, id }, signal);
      metrics.asked(upstream, answer.rcode, clock.elapsedMs() - startMs);
      return answer;
    } catch {
      metrics.failed(upstream, clock.elapsedMs() - startMs);
      return undefined;
    }
  }
}

/** An upstream that refuses connections at once must not be asked in a busy loop. */
const ATTEMPTS_MAX = 15;
/** With less time than this, another question is not worth asking. */
const ATTEMPT_MS_MIN = 10;

function keyOf({ name, type, class: of, edns, checkingDisabled }: Query): string {
  return `${type} ${of} ${flagOf(edns)}${checkingDisabled ? "c" : ""} ${name}`;
}

function flagOf(edns: Edns | undefined): string {
  return edns?.dnssecOk === true ? "d" : "";
}
