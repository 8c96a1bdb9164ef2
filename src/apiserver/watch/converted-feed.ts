/**
 * A watch feed whose objects a webhook converts to the version of the request. Events keep their
 * order: while some are converted no others are taken from the feed behind it, so that no more than one
 * batch is held. A conversion that fails ends the watch with an error event. Field selectors are about
 * the version of the request, so objects are compared with them after the conversion.
 */
import type { Kind } from "#api/kind.ts";
import { internalErrorStatus, type Result } from "#api/meta/status.ts";
import { messageOf } from "#lib/caught.ts";
import { revisionsAs } from "../storage/convert.ts";
import type { Revision } from "../storage/revision.ts";
import { type EventFeed, eventOf, type FeedEvent, type WatchFeedOptions } from "./watch-feed.ts";

export class ConvertedFeed implements EventFeed {
  readonly kind: Kind;
  /** In the stored version, of all objects. */
  readonly #feed: EventFeed;
  readonly #matches: WatchFeedOptions["matches"];
  #state: "idle" | "converting" | "failed" = "idle";
  #converted: readonly FeedEvent[] = [];
  #wake: () => void = () => undefined;

  constructor(feed: EventFeed, kind: Kind, matches: WatchFeedOptions["matches"]) {
    this.#feed = feed;
    this.kind = kind;
    this.#matches = matches;
  }

  get ending(): boolean {
    return this.#feed.ending;
  }

  onWake(wake: () => void): void {
    this.#wake = wake;
    this.#feed.onWake(wake);
  }

  whenCaughtUp(then: () => void): void {
    this.#feed.whenCaughtUp(then);
  }

  pull(countMax: number): readonly FeedEvent[] | "over" {
    const converted = this.#converted;
    if (converted.length > 0) {
      this.#converted = [];
      return converted;
    }
    if (this.#state === "failed") return "over";
    if (this.#state === "converting") return [];
    const events = this.#feed.pull(countMax);
    if (events === "over" || events.length === 0) return events;
    const objects = events.flatMap((event) => this.#objectsOf(event));
    const conversion = revisionsAs(this.kind, objects);
    if (!(conversion instanceof Promise)) {
      const finished = this.#finish(events, conversion);
      return finished.length > 0 ? finished : this.pull(countMax);
    }
    this.#state = "converting";
    void conversion
      .catch((error: unknown): Result<never> => {
        return { ok: false, status: internalErrorStatus(messageOf(error)) };
      })
      .then((result) => {
        this.#state = "idle";
        this.#converted = this.#finish(events, result);
        this.#wake();
      });
    return [];
  }

  end(): void {
    this.#feed.end();
  }

  [Symbol.dispose](): void {
    this.#wake = () => undefined;
    this.#feed[Symbol.dispose]();
  }

  #finish(events: readonly FeedEvent[], result: Result<readonly Revision[]>): FeedEvent[] {
    if (!result.ok) {
      this.#state = "failed";
      return [{ type: "ERROR", status: result.status }];
    }
    return events.flatMap((event) => this.#served(event) ?? []);
  }

  /** What has to be converted before the event can be served. */
  #objectsOf(event: FeedEvent): readonly Revision[] {
    if (!("object" in event)) return [];
    const previous = this.#matches === undefined ? undefined : event.change?.previous;
    return previous === undefined ? [event.object] : [event.object, previous];
  }

  #served(event: FeedEvent): FeedEvent | undefined {
    if (!("object" in event)) return event;
    const matches = this.#matches;
    if (event.change !== undefined) return eventOf(event.change, { kind: this.kind, matches });
    if (matches !== undefined && !matches(event.object)) return undefined;
    return { ...event, object: event.object.as(this.kind) };
  }
}
