/**
 * Delivers a watch feed to one client. Writes only while the client keeps up; what comes meanwhile
 * stays in the feed, which holds no copy of it. A server that closes ends its watches properly.
 */
import type { Reply } from "./http-exchange.ts";
import type { Media } from "./negotiate.ts";
import type { ApiRequest } from "./request.ts";
import type { Tables } from "./table.ts";
import type { WatchFeed } from "./watch-feed.ts";
import { createFrameEncoder } from "./watch-frames.ts";

/** Events that are joined into one write at most. */
const BATCH = 256;

export async function streamWatch(
  feed: WatchFeed,
  media: Media,
  request: ApiRequest,
  tables: Tables,
  closing: AbortSignal,
  reply: Reply,
): Promise<void> {
  using _feed = feed;
  const { signal } = request;
  const end = (): void => feed.end();
  if (closing.aborted) end();
  closing.addEventListener("abort", end, { once: true });
  const encode = createFrameEncoder(feed.kind, media, request.query, tables);
  let wake: () => void = () => undefined;
  feed.onWake(() => wake());
  const woken = (): Promise<void> =>
    new Promise((resolve) => {
      const done = (): void => {
        signal.removeEventListener("abort", done);
        resolve();
      };
      wake = done;
      signal.addEventListener("abort", done, { once: true });
    });

  while (!signal.aborted) {
    const waiting = woken();
    const events = feed.pull(BATCH);
    if (events === "over") break;
    if (events.length === 0) {
      await waiting;
      continue;
    }
    wake(); // this round's listener is not needed
    const frames = events.map(encode);
    const bytes = frames.length === 1 ? frames[0]! : Buffer.concat(frames);
    if (!reply.write(bytes)) await reply.drained();
  }
  closing.removeEventListener("abort", end);
  reply.end();
}
