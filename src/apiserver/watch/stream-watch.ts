/**
 * Delivers a watch feed to one client. Writes only while the client keeps up; later events stay in
 * the feed, which holds no copies. A server that shuts down ends its watches properly.
 *
 * Written with callbacks: a promise for each event and watcher would cost more than the event.
 */

import type { Reply } from "../http/exchange.ts";
import type { CountEvent } from "../metrics/watch-metrics.ts";
import type { FrameChunk } from "../response/byte-chunk.ts";
import type { FanOut } from "./fan-out.ts";
import type { EventFeed } from "./watch-feed.ts";
import type { FrameEncoder } from "./watch-frames.ts";

/**
 * Bounds the bytes of one write, so that a client that stops reading holds little memory: beyond it no
 * more events are pulled. They are pulled a few at a time, because each may be as large as an object
 * can be.
 */
const BYTES_MAX = 256 * 1024;
const EVENTS_AT_A_TIME = 8;

export interface WatchDelivery {
  readonly encode: FrameEncoder;
  readonly count: CountEvent;
  readonly fanOut: FanOut;
  readonly reply: Pick<Reply, "writeChunk" | "drained" | "end" | "destroy">;
  /** Aborts when the client has left. */
  readonly signal: AbortSignal;
  /** Aborts when the server closes. */
  readonly closing: AbortSignal;
}

/** Resolves when the watch has ended, by either side; rejects when an event cannot be delivered. */
export function streamWatch(
  feed: EventFeed,
  { encode, count, fanOut, reply, signal, closing }: WatchDelivery,
): Promise<void> {
  return new Promise((resolve, reject) => {
    let state: "idle" | "scheduled" | "blocked" | "ended" = "scheduled";
    const release = (): void => {
      state = "ended";
      signal.removeEventListener("abort", finish);
      closing.removeEventListener("abort", endFeed);
      feed[Symbol.dispose]();
    };
    const finish = (): void => {
      if (state === "ended") return;
      release();
      reply.end();
      resolve();
    };
    const endFeed = (): void => feed.end();
    const flush = (): void => {
      if (state === "ended") return;
      try {
        send();
      } catch (error) {
        release();
        reject(error); // one watch that fails does not end the others
      }
    };
    const send = (): void => {
      for (;;) {
        const chunk = nextChunk(feed, encode, count, fanOut);
        if (chunk === "over") {
          finish();
          return;
        }
        if (chunk === "none") {
          state = "idle";
          return;
        }
        if (!reply.writeChunk(chunk)) break;
      }
      state = "blocked";
      void reply.drained().then(() => fanOut.catchUp(flush));
    };

    feed.onWake(() => {
      if (state === "idle") {
        state = "scheduled";
        fanOut.schedule(flush);
      } else if (state === "blocked" && feed.ending) {
        reply.destroy(); // a client that does not read will not read the end either
        finish();
      }
    });
    if (closing.aborted) endFeed();
    closing.addEventListener("abort", endFeed, { once: true });
    signal.addEventListener("abort", finish, { once: true });
    if (signal.aborted) finish();
    else fanOut.catchUp(flush);
  });
}

/** The pending events as one chunk of about BYTES_MAX at most. */
function nextChunk(
  feed: EventFeed,
  encode: FrameEncoder,
  count: CountEvent,
  fanOut: FanOut,
): FrameChunk | "none" | "over" {
  const frames: Uint8Array[] = [];
  let bytes = 0;
  while (bytes < BYTES_MAX) {
    const events = feed.pull(EVENTS_AT_A_TIME);
    if (events === "over") {
      if (frames.length === 0) return "over";
      break;
    }
    if (events.length === 0) break;
    for (const event of events) {
      const frame = encode(event);
      frames.push(frame);
      bytes += frame.length;
      count(frame.length);
    }
  }
  return frames.length === 0 ? "none" : fanOut.join(frames);
}
