/**
 * Delivers a watch feed to one client. Writes only while the client keeps up; what comes meanwhile
 * stays in the feed, which holds no copy of it.
 */
import type { Clock } from "#lib/clock.ts";
import { encodeValue } from "./encode-answer.ts";
import type { Reply } from "./http-server.ts";
import type { Media } from "./negotiate.ts";
import { partialMetadata } from "./partial-metadata.ts";
import type { ApiRequest } from "./request.ts";
import type { Revision } from "./revision.ts";
import { tableOf } from "./table.ts";
import type { FeedEvent, WatchFeed } from "./watch-feed.ts";

/** Events that are joined into one write at most. */
const BATCH = 256;

export async function streamWatch(
  feed: WatchFeed,
  media: Media,
  request: ApiRequest,
  clock: Clock,
  reply: Reply,
): Promise<void> {
  using _feed = feed;
  const { signal } = request;
  const encode = frameEncoder(feed, media, request.query, clock);
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
  reply.end();
}

type Encode = (event: FeedEvent) => Uint8Array;

function frameEncoder(feed: WatchFeed, media: Media, query: URLSearchParams, clock: Clock): Encode {
  const { as } = media;
  let headers = true;
  const present = (object: Revision): unknown => {
    if (as?.kind === "Table") {
      const table = tableOf(feed.kind, [object], rvOf(object), as.version, query, clock.nowMs());
      const shown = headers ? table : { ...table, columnDefinitions: null };
      headers = false;
      return shown;
    }
    return as === undefined ? object.value : partialMetadata(object.value, as.version);
  };
  return (event) => {
    if (event.type === "ERROR") return frame("ERROR", event.status);
    if (event.type === "BOOKMARK") {
      return frame("BOOKMARK", bookmark(feed, media, event.revision, event.initialEventsEnd));
    }
    if (as !== undefined || media.pretty) return frame(event.type, present(event.object));
    const { change, object, type } = event;
    if (change === undefined) return jsonFrame(type, object);
    const key = `${object.kind.apiVersion} ${type}`;
    const known = change.frames.get(key);
    if (known !== undefined) return known;
    const made = jsonFrame(type, object);
    change.frames.set(key, made);
    return made;
  };
}

function rvOf({ number }: Revision): Record<string, unknown> {
  return { resourceVersion: String(number) };
}

function frame(type: string, object: unknown): Buffer {
  return encodeValue({ type, object }, { encoding: "json", pretty: false, as: undefined });
}

const END = Buffer.from("}\n");

function jsonFrame(type: string, object: Revision): Buffer {
  return Buffer.concat([Buffer.from(`{"type":"${type}","object":`), object.json, END]);
}

function bookmark(feed: WatchFeed, media: Media, revision: number, initialEventsEnd: boolean) {
  const { kind } = feed;
  const metadata = {
    resourceVersion: String(revision),
    ...(initialEventsEnd ? { annotations: { "k8s.io/initial-events-end": "true" } } : {}),
  };
  const { as } = media;
  if (as === undefined) return { kind: kind.names.kind, apiVersion: kind.apiVersion, metadata };
  const partial = partialMetadata({ metadata }, as.version);
  if (as.kind !== "Table") return partial;
  return {
    kind: "Table",
    apiVersion: `meta.k8s.io/${as.version}`,
    metadata: { resourceVersion: String(revision) },
    columnDefinitions: null,
    rows: [{ cells: null, object: partial }],
  };
}
