/**
 * The events of one watch request, pulled by the code that sends them: first the initial state, then
 * every change that matches, bookmarks in between, and an error event if the window was outrun.
 *
 * Promises:
 * 1. Nothing is queued for a slow reader. It holds a copy-on-write snapshot while it reads the
 *    initial state, and a cursor afterwards.
 * 2. An object that stops matching the selectors is DELETED for this watch, one that begins to is
 *    ADDED, always as of the revision of the change.
 * 3. If changes have left the window, the watch gets an ERROR event (410 Gone), as upstream does; the
 *    request itself is not refused.
 * 4. When the resource is removed or redefined the feed ends after what is pending.
 * 5. `wake` is called when a pull would find something after one that found nothing.
 */
import type { Status } from "#api/generated/meta.v1.ts";
import type { Kind } from "#api/kind.ts";
import { expiredStatus } from "#api/meta/status.ts";
import { nextTurn } from "#lib/async/next-turn.ts";
import type { OrderedMap } from "#lib/collections/ordered-map.ts";
import type { Clock, Timer } from "#lib/time/clock.ts";
import type { Revision } from "../storage/revision.ts";
import type { ResourceCache, Subscription, Trigger } from "./resource-cache.ts";
import type { Change } from "./watch-window.ts";

/** As upstream. */
export const BOOKMARK_EVERY_MS = 60_000;
/** Objects of the initial state that one pull compares with the selectors: some milliseconds. */
const LOOKED_MAX = 250;
const BOOKMARK_BEFORE_END_MS = 2_000;

export type FeedEvent =
  | {
      readonly type: "ADDED" | "MODIFIED" | "DELETED";
      readonly object: Revision;
      /** The change behind it, where encodings are shared; none in the initial state. */
      readonly change: Change | undefined;
    }
  | { readonly type: "BOOKMARK"; readonly revision: number; readonly initialEventsEnd: boolean }
  | { readonly type: "ERROR"; readonly status: Status };

export interface WatchFeedOptions {
  readonly cache: ResourceCache;
  /** The revision that everything delivered so far adds up to. */
  currentRevision(): number;
  /** The version that objects are served in. */
  readonly kind: Kind;
  /** Keys begin with it: the resource, or one namespace of it. */
  readonly prefix: string;
  /** The objects that the selectors choose; all if undefined. */
  readonly matches: ((object: Revision) => boolean) | undefined;
  readonly trigger: Trigger | undefined;
  readonly from:
    | { readonly point: "state"; readonly endMark: boolean }
    | { readonly point: "after"; readonly revision: number };
  readonly bookmarks: boolean;
  readonly bookmarkEveryMs: number;
  readonly timeoutMs: number;
  readonly clock: Clock;
}

type Source = Pick<Subscription, "pull" | typeof Symbol.dispose>;

/** Changes after the requested revision have left the window. */
const OVERTAKEN: Source = { pull: () => "overtaken", [Symbol.dispose]: () => undefined };

/** A source of events from which the sending code pulls. */
export interface EventFeed extends Disposable {
  readonly kind: Kind;
  /** Whether the feed ends after the pending events. */
  readonly ending: boolean;
  /** `wake` is called when a pull would find something after one that found nothing. */
  onWake(wake: () => void): void;
  /** Calls back once, when the initial state was delivered or the feed was disposed. */
  whenCaughtUp(then: () => void): void;
  /** Up to about `countMax` events; none when there are none for now; "over" when it has ended. */
  pull(countMax: number): readonly FeedEvent[] | "over";
  /** Ends the feed after the pending events. */
  end(): void;
}

export class WatchFeed implements EventFeed {
  readonly kind: Kind;
  readonly #options: WatchFeedOptions;
  readonly #subscription: Source;
  readonly #startMs: number;
  #state: { readonly snapshot: OrderedMap<string, Revision>; after: string } | undefined;
  #stateRevision: number;
  #bookmarkDue = false;
  #over = false;
  #timer: Timer | undefined;
  #wake: () => void = () => undefined;
  #caughtUp: (() => void) | undefined;

  constructor(options: WatchFeedOptions) {
    this.#options = options;
    this.kind = options.kind;
    this.#startMs = options.clock.elapsedMs();
    this.#stateRevision = options.currentRevision();
    if (options.from.point === "state") {
      this.#state = { snapshot: options.cache.fork(), after: "" };
    }
    const { cache, from, trigger } = options;
    const afterRevision = from.point === "state" ? this.#stateRevision : from.revision;
    const wake = (): void => this.#wake();
    const ended = (): void => this.end();
    this.#subscription = cache.subscribe({ trigger, afterRevision, wake, ended }) ?? OVERTAKEN;
    this.#arm();
  }

  onWake(wake: () => void): void {
    this.#wake = wake;
  }

  /** Calls back once, when the initial state was delivered or the feed was disposed. */
  whenCaughtUp(then: () => void): void {
    if (this.#state === undefined) then();
    else this.#caughtUp = then;
  }

  /** Up to about `countMax` events; none when there are none for now; "over" when it has ended. */
  pull(countMax: number): readonly FeedEvent[] | "over" {
    if (this.#state !== undefined) return this.#pullState(countMax);
    const events: FeedEvent[] = [];
    while (events.length === 0) {
      const changes = this.#subscription.pull(countMax);
      if (changes === "overtaken") return this.#overtaken();
      if (changes.length === 0) break;
      for (const change of changes) {
        const event = this.#translate(change);
        if (event !== undefined) events.push(event);
      }
    }
    if (events.length > 0) return events;
    if (this.#bookmarkDue) {
      this.#bookmarkDue = false;
      const revision = this.#options.currentRevision();
      return [{ type: "BOOKMARK", revision, initialEventsEnd: false }];
    }
    return this.#over ? "over" : events;
  }

  /** Whether the feed ends after the pending events. */
  get ending(): boolean {
    return this.#over;
  }

  /** Ends the feed after the pending events. */
  end(): void {
    this.#over = true;
    this.#wake();
  }

  [Symbol.dispose](): void {
    this.#over = true;
    this.#timer?.cancel();
    this.#wake = () => undefined;
    this.#endState();
    this.#subscription[Symbol.dispose]();
  }

  #pullState(countMax: number): readonly FeedEvent[] {
    const state = this.#state!;
    const { prefix, matches, kind, from, bookmarks } = this.#options;
    const events: FeedEvent[] = [];
    let looked = 0;
    for (const [key, revision] of state.snapshot.entriesFrom(
      state.after === "" ? prefix : state.after,
    )) {
      if (key === state.after) continue;
      if (!key.startsWith(prefix)) break;
      if (events.length >= countMax) return events;
      if (looked >= LOOKED_MAX) return this.#goOnSoon(events);
      looked += 1;
      state.after = key;
      if (matches !== undefined && !matches(revision)) continue;
      events.push({ type: "ADDED", object: revision.as(kind), change: undefined });
    }
    this.#endState();
    if (bookmarks && from.point === "state" && from.endMark) {
      events.push({ type: "BOOKMARK", revision: this.#stateRevision, initialEventsEnd: true });
    }
    return events.length > 0 ? events : (this.pull(countMax) as readonly FeedEvent[]);
  }

  /** Spreads the scan of many objects that do not match over several turns of the event loop. */
  #goOnSoon(events: readonly FeedEvent[]): readonly FeedEvent[] {
    if (events.length === 0) void nextTurn().then(() => this.#wake());
    return events;
  }

  #endState(): void {
    this.#state = undefined;
    this.#caughtUp?.();
    this.#caughtUp = undefined;
  }

  #translate(change: Change): FeedEvent | undefined {
    const { prefix, from } = this.#options;
    if (!change.key.startsWith(prefix)) return undefined;
    // A watch may start after a revision in the future.
    if (from.point === "after" && change.revision <= from.revision) return undefined;
    return eventOf(change, this.#options);
  }

  #overtaken(): readonly FeedEvent[] | "over" {
    if (this.#over) return "over";
    this.#over = true;
    const { cache, from } = this.#options;
    const { completeSince } = cache;
    const asked = from.point === "after" ? from.revision : this.#stateRevision;
    const old = this.#subscription === OVERTAKEN ? asked : "the watch fell behind";
    const message = `too old resource version: ${old} (${completeSince})`;
    return [{ type: "ERROR", status: expiredStatus(message) }];
  }

  /** One timer for whichever comes first: a bookmark or the end. */
  #arm(): void {
    const { clock, timeoutMs, bookmarks, bookmarkEveryMs } = this.#options;
    const leftMs = timeoutMs - (clock.elapsedMs() - this.#startMs);
    if (leftMs <= 0) {
      this.end();
      return;
    }
    const beforeEndMs = leftMs > BOOKMARK_BEFORE_END_MS ? leftMs - BOOKMARK_BEFORE_END_MS : leftMs;
    const nextMs = bookmarks ? Math.min(bookmarkEveryMs, beforeEndMs) : leftMs;
    this.#timer = clock.schedule(nextMs, () => {
      if (nextMs < leftMs) {
        this.#bookmarkDue = true;
        this.#wake();
      }
      this.#arm();
    });
  }
}

/** The event that a change means for a watch with these selectors; undefined if there is none. */
export function eventOf(
  change: Change,
  { matches, kind }: Pick<WatchFeedOptions, "matches" | "kind">,
): FeedEvent | undefined {
  const { object, previous, deleted, revision } = change;
  if (matches === undefined) {
    const type = deleted ? "DELETED" : previous === undefined ? "ADDED" : "MODIFIED";
    return { type, object: object.as(kind), change };
  }
  const before = previous !== undefined && matches(previous);
  const now = !deleted && matches(object);
  if (now) return { type: before ? "MODIFIED" : "ADDED", object: object.as(kind), change };
  if (!before) return undefined;
  const last = deleted ? object.as(kind) : previous.as(kind).renumbered(revision);
  return { type: "DELETED", object: last, change: deleted ? change : undefined };
}
