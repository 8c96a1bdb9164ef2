/**
 * A watch feed whose objects a webhook converts to the version of the request. Events keep their
 * order: while some are converted no others are taken from the feed behind it, so that no more than one
 * batch is held. A conversion that fails ends the watch with an error event.
 */
import type { Kind } from "#api/kind.ts";
import { internalErrorStatus, type Result } from "#api/meta/status.ts";
import { messageOf } from "#lib/caught.ts";
import { revisionsAs } from "../storage/convert.ts";
import type { Revision } from "../storage/revision.ts";
import type { EventFeed, FeedEvent } from "./watch-feed.ts";

export class ConvertedFeed implements EventFeed {
  readonly kind: Kind;
  /** In the stored version. */
  readonly #feed: EventFeed;
  #state: "idle" | "converting" | "failed" = "idle";
  #converted: readonly FeedEvent[] = [];
  #wake: () => void = () => undefined;

  constructor(feed: EventFeed, kind: Kind) {
    this.#feed = feed;
    this.kind = kind;
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
    const objects = events.flatMap((event) => ("object" in event ? [event.object] : []));
    const conversion = revisionsAs(this.kind, objects);
    if (!(conversion instanceof Promise)) return this.#finish(events, conversion);
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
    const objects = result.value.values();
    return events.map((event) =>
      "object" in event ? { ...event, object: objects.next().value ?? event.object } : event,
    );
  }
}
