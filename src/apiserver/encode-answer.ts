/**
 * Answers as bytes. JSON of stored objects is sent as it is; other forms are made from the values.
 */
import { encodeJson } from "#api/codec/json.ts";
import { encodeProtobuf } from "#api/codec/protobuf.ts";
import { encodeYaml } from "#api/codec/yaml.ts";
import type { Kind, KubeObject } from "#api/kind.ts";
import type { AnswerBody, ApiValue, ObjectList } from "./answer.ts";
import { MEDIA_TYPES, type Media } from "./negotiate.ts";
import { partialMetadata } from "./partial-metadata.ts";
import { protobufSchemaOf } from "./protobuf-schema.ts";
import type { Revision } from "./revision.ts";
import type { Tables } from "./table.ts";

export interface EncodedAnswer {
  readonly contentType: string;
  readonly bytes: Uint8Array;
}

export type EncodableBody = Exclude<AnswerBody, { form: "watch" | "stream" | "tunnel" }>;

export function encodeAnswer(
  body: EncodableBody,
  media: Media,
  query: URLSearchParams,
  tables: Tables,
): EncodedAnswer {
  if (body.form === "bytes") {
    return { contentType: body.contentType, bytes: body.bytes };
  }
  const contentType = MEDIA_TYPES[media.encoding];
  const plain = media.encoding === "json" && !media.pretty && media.as === undefined;
  if (plain && body.form === "object") return { contentType, bytes: body.object.line };
  if (plain && body.form === "list") return { contentType, bytes: joinList(body.list) };
  const value = presentedValue(body, media, query, tables);
  return { contentType, bytes: encodeValue(value, media) };
}

export function encodeValue(value: ApiValue, media: Media): Uint8Array {
  if (media.encoding === "protobuf") return encodeProtobuf(protobufSchemaOf(value), value);
  if (media.encoding === "yaml") return Buffer.from(encodeYaml(value));
  if (media.pretty) return Buffer.from(JSON.stringify(value, undefined, 2));
  return Buffer.from(`${encodeJson(value)}\n`);
}

function presentedValue(
  body: Exclude<EncodableBody, { form: "bytes" }>,
  media: Media,
  query: URLSearchParams,
  tables: Tables,
): ApiValue {
  if (body.form === "value") return body.value;
  const items = body.form === "object" ? [body.object] : body.list.items;
  if (media.as?.kind === "Table") {
    const metadata = body.form === "object" ? objectMeta(body.object) : listMeta(body.list);
    const kind = body.form === "object" ? body.object.kind : body.list.kind;
    return tables.of({ kind, items, metadata, version: media.as.version, query });
  }
  const partial = media.as?.version;
  if (body.form === "object") {
    return partial === undefined ? body.object.value : partialMetadata(body.object.value, partial);
  }
  const listKind = partial === undefined ? body.list.kind.names.list : "PartialObjectMetadataList";
  const apiVersion = partial === undefined ? body.list.kind.apiVersion : `meta.k8s.io/${partial}`;
  return {
    kind: listKind,
    apiVersion,
    metadata: listMeta(body.list),
    items:
      partial === undefined
        ? items.map(({ value }) => withoutType(value))
        : items.length === 0
          ? null
          : items.map(({ value }) => partialMetadata(value, partial)),
  } as ApiValue;
}

function objectMeta({ number }: Revision): Record<string, unknown> {
  return number === 0 ? {} : { resourceVersion: String(number) };
}

function listMeta(list: ObjectList): Record<string, unknown> {
  const { resourceVersion, continueToken, remaining } = list;
  return {
    resourceVersion,
    ...(continueToken === undefined ? {} : { continue: continueToken }),
    ...(remaining === undefined ? {} : { remainingItemCount: remaining }),
  };
}

function withoutType({ kind: _, apiVersion: __, ...rest }: KubeObject): unknown {
  return rest;
}

const OPEN = Buffer.from("{");
const SEPARATOR = Buffer.from(",{");
const END = Buffer.from("]}\n");

/** Copies the items' bytes into one buffer; nothing is parsed. */
function joinList(list: ObjectList): Buffer {
  const head = Buffer.from(listHead(list.kind, list));
  let length = head.length + END.length;
  for (const item of list.items) length += SEPARATOR.length + item.json.length - item.itemStart;
  const bytes = Buffer.allocUnsafe(length);
  let at = head.copy(bytes);
  let first = true;
  for (const item of list.items) {
    at += (first ? OPEN : SEPARATOR).copy(bytes, at);
    first = false;
    at += item.json.copy(bytes, at, item.itemStart);
  }
  at += END.copy(bytes, at);
  return bytes.subarray(0, at);
}

function listHead({ names, apiVersion }: Kind, list: ObjectList): string {
  const head = { kind: names.list, apiVersion, metadata: listMeta(list), items: [] };
  return JSON.stringify(head).slice(0, -2);
}

/** Texts of a Warning header. */
export function warningHeader(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters must not reach a header
  const safe = text.replace(/[\u0000-\u001f\u007f]/g, " ");
  const escaped = safe.replace(/[\\"]/g, "\\$&");
  return `299 - "${Buffer.from(escaped).toString("latin1")}"`;
}

export function isWhole(body: AnswerBody): body is EncodableBody {
  return body.form !== "watch" && body.form !== "stream" && body.form !== "tunnel";
}
