/**
 * Delivers a watch feed to one client. Writes only while the client keeps up; what comes meanwhile
 * stays in the feed, which holds no copy of it. A server that closes ends its watches properly.
 *
 * Written with callbacks: a promise for each event and watcher would cost more than the event.
 */
import type { Reply } from "./http-exchange.ts";
import type { Media } from "./negotiate.ts";
import type { ApiRequest } from "./request.ts";
import type { Tables } from "./table.ts";
import type { WatchFeed } from "./watch-feed.ts";
import { createFrameEncoder } from "./watch-frames.ts";

/** What is joined into one write at most, so that a client that stops reading holds little. */
const EVENTS_MAX = 256;
const BYTES_MAX = 256 * 1024;

/** Resolves when the watch has ended, by either side. */
export function streamWatch(
  feed: WatchFeed,
  media: Media,
  request: ApiRequest,
  tables: Tables,
  closing: AbortSignal,
  reply: Reply,
): Promise<void> {
  const { signal } = request;
  const encode = createFrameEncoder(feed.kind, media, request.query, tables);
  return new Promise((resolve) => {
    let state: "idle" | "scheduled" | "blocked" | "ended" = "scheduled";
    let pieces: Iterator<Uint8Array> = [].values(); // pulled, but not written yet

    const finish = (): void => {
      if (state === "ended") return;
      state = "ended";
      signal.removeEventListener("abort", finish);
      closing.removeEventListener("abort", endFeed);
      feed[Symbol.dispose]();
      reply.end();
      resolve();
    };
    const endFeed = (): void => feed.end();
    const flush = (): void => {
      if (state === "ended") return;
      for (;;) {
        const piece = pieces.next();
        if (!piece.done) {
          if (!reply.write(piece.value)) break;
          continue;
        }
        const events = feed.pull(EVENTS_MAX);
        if (events === "over") {
          finish();
          return;
        }
        if (events.length === 0) {
          state = "idle";
          return;
        }
        const frames = events.map(encode);
        pieces = frames.length === 1 ? frames.values() : joined(frames);
      }
      state = "blocked";
      void reply.drained().then(flush);
    };

    feed.onWake(() => {
      // After the commit that woke it, so that everything in it goes out in one piece.
      if (state === "idle") {
        state = "scheduled";
        void AT_ONCE.then(flush);
      } else if (state === "blocked" && feed.ending) {
        reply.destroy(); // a client that does not read will not read the end either
        finish();
      }
    });
    if (closing.aborted) endFeed();
    closing.addEventListener("abort", endFeed, { once: true });
    signal.addEventListener("abort", finish, { once: true });
    if (signal.aborted) finish();
    else flush();
  });
}

const AT_ONCE = Promise.resolve();

/** The frames in pieces of a good size. */
function* joined(frames: readonly Uint8Array[]): Iterator<Uint8Array> {
  let from = 0;
  let length = 0;
  for (const [i, frame] of frames.entries()) {
    length += frame.length;
    if (length < BYTES_MAX && i < frames.length - 1) continue;
    yield i === from ? frame : Buffer.concat(frames.slice(from, i + 1), length);
    from = i + 1;
    length = 0;
  }
}
