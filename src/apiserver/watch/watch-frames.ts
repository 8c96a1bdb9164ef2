/**
 * Events of a watch as bytes: a line of JSON each, or a length and a protobuf message. Encodings that
 * several watchers need are made once and kept with the change.
 */
import { escapeHtml } from "#api/codec/html-escapes.ts";
import { encodeJson } from "#api/codec/json.ts";
import { encodeWatchFrame } from "#api/codec/protobuf.ts";
import type { Kind } from "#api/kind.ts";
import type { ApiValue } from "../response/answer.ts";
import { encodeValue } from "../response/encode-answer.ts";
import type { Media } from "../response/negotiate.ts";
import { partialMetadata } from "../response/partial-metadata.ts";
import { envelopeOf } from "../response/protobuf-messages.ts";
import type { Tables } from "../response/table.ts";
import type { Revision } from "../storage/revision.ts";
import { finishObject } from "../write/write-rules.ts";
import type { FeedEvent } from "./watch-feed.ts";

export type FrameEncoder = (event: FeedEvent) => Uint8Array;

export function createFrameEncoder(
  kind: Kind,
  media: Media,
  query: URLSearchParams,
  tables: Tables,
): FrameEncoder {
  if (media.as?.kind === "Table") return tableFrames(kind, media, query, tables);
  const form = `${kind.apiVersion} ${media.encoding} ${media.as?.version ?? ""}`;
  const keys = { ADDED: `ADDED ${form}`, MODIFIED: `MODIFIED ${form}`, DELETED: `DELETED ${form}` };
  return (event) => {
    if (event.type === "ERROR") return frame("ERROR", event.status, media);
    if (event.type === "BOOKMARK")
      return frame("BOOKMARK", bookmarkObject(kind, media, event), media);
    const { change, object, type } = event;
    if (change === undefined) return objectFrame(type, object, media);
    const known = change.frames?.get(keys[type]);
    if (known !== undefined) return known;
    const made = objectFrame(type, object, media);
    change.frames ??= new Map();
    change.frames.set(keys[type], made);
    return made;
  };
}

/** Only the first table has column definitions, so frames of tables are not shared between watchers. */
function tableFrames(
  kind: Kind,
  media: Media,
  query: URLSearchParams,
  tables: Tables,
): FrameEncoder {
  const { version } = media.as!;
  let headers = true;
  const table = (object: Revision): ApiValue => {
    const metadata = { resourceVersion: String(object.number) };
    const whole = tables.of({ kind, items: [object], metadata, version, query });
    const shown = headers ? whole : { ...whole, columnDefinitions: null };
    headers = false;
    return shown;
  };
  return (event) => {
    if (event.type === "ERROR") return frame("ERROR", event.status, media);
    if (event.type !== "BOOKMARK") return frame(event.type, table(event.object), media);
    const object = bookmarkObject(kind, media, event);
    const value = {
      kind: "Table",
      apiVersion: `meta.k8s.io/${version}`,
      metadata: { resourceVersion: String(event.revision) },
      columnDefinitions: headers ? tables.columns(kind) : null,
      rows: [{ cells: null, object }],
    };
    headers = false;
    return frame("BOOKMARK", value, media);
  };
}

const END = Buffer.from("}\n");

function objectFrame(type: string, object: Revision, media: Media): Uint8Array {
  if (media.as !== undefined) {
    return frame(type, partialMetadata(object.value, media.as.version), media);
  }
  if (media.encoding === "protobuf") return encodeWatchFrame(type, envelopeOf(object));
  return Buffer.concat([Buffer.from(`{"type":"${type}","object":`), object.json, END]);
}

function frame(type: string, object: ApiValue, media: Media): Uint8Array {
  if (media.encoding === "protobuf") return encodeWatchFrame(type, encodeValue(object, media));
  return Buffer.from(`${escapeHtml(encodeJson({ type, object }))}\n`);
}

/** An object with nothing in it but the revision that the watch has reached. */
function bookmarkObject(
  kind: Kind,
  { as }: Media,
  { revision, initialEventsEnd }: FeedEvent & { type: "BOOKMARK" },
): ApiValue {
  const metadata = {
    resourceVersion: String(revision),
    ...(initialEventsEnd ? { annotations: { "k8s.io/initial-events-end": "true" } } : {}),
  };
  if (as !== undefined) return partialMetadata({ metadata }, as.version);
  const empty = finishObject(kind, { metadata });
  return empty.ok ? empty.value : { kind: kind.names.kind, apiVersion: kind.apiVersion };
}
