/** Reads a watch to its end. */
import type { EventFeed, FeedEvent } from "./watch-feed.ts";

export async function readFeed(
  feed: EventFeed,
  onEvent: (event: FeedEvent) => void = () => undefined,
): Promise<void> {
  await new Promise<void>((resolve) => {
    const read = (): void => {
      for (;;) {
        const events = feed.pull(100);
        if (events === "over") {
          resolve();
          return;
        }
        if (events.length === 0) return;
        events.forEach(onEvent);
      }
    };
    feed.onWake(read);
    read();
  });
  feed[Symbol.dispose]();
}
