/**
 * Answers as bytes. JSON of stored objects is sent as it is; other forms are made from the values.
 */
import { escapeHtml } from "#api/codec/html-escapes.ts";
import { encodeJson } from "#api/codec/json.ts";
import { encodeProtobuf } from "#api/codec/protobuf.ts";
import { encodeYaml } from "#api/codec/yaml.ts";
import type { KubeObject } from "#api/kind.ts";
import type { Revision } from "../storage/revision.ts";
import type { AnswerBody, ApiValue } from "./answer.ts";
import { listMeta } from "./list-meta.ts";
import { jsonText, protobufText } from "./list-text.ts";
import { MEDIA_TYPES, type Media } from "./negotiate.ts";
import { partialMetadata } from "./partial-metadata.ts";
import { envelopeOf } from "./protobuf-messages.ts";
import { protobufSchemaOf } from "./protobuf-schema.ts";
import { isPlainList } from "./send-list.ts";
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
  if (body.form === "list" && isPlainList(media)) {
    const text = plain ? jsonText(body.list) : protobufText(body.list);
    return { contentType, bytes: text.whole() };
  }
  if (body.form === "object" && media.encoding === "protobuf" && media.as === undefined) {
    return { contentType, bytes: envelopeOf(body.object) };
  }
  const value = presentedValue(body, media, query, tables);
  return { contentType, bytes: encodeValue(value, media) };
}

export function encodeValue(value: ApiValue, media: Media): Uint8Array {
  if (media.encoding === "protobuf") return encodeProtobuf(protobufSchemaOf(value), value);
  if (media.encoding === "yaml") return Buffer.from(encodeYaml(value));
  if (media.pretty) return Buffer.from(escapeHtml(JSON.stringify(value, undefined, 2)));
  return Buffer.from(`${escapeHtml(encodeJson(value))}\n`);
}

/** What a client reads, before it is written out. */
export function presentedValue(
  body: Exclude<EncodableBody, { form: "bytes" }>,
  media: Media,
  query: URLSearchParams,
  tables: Tables,
): ApiValue {
  if (body.form === "value") return presentedAs(body, media, query, tables);
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

/** What is not stored, in the form that was asked for. Failures are Statuses in any case. */
function presentedAs(
  { value, columns }: Extract<EncodableBody, { form: "value" }>,
  { as }: Media,
  query: URLSearchParams,
  tables: Tables,
): ApiValue {
  if (as === undefined || value.kind === "Status" || !("metadata" in value)) return value;
  const object = value as KubeObject;
  if (as.kind !== "Table") return partialMetadata(object, as.version);
  if (columns === undefined) return value;
  const { resourceVersion } = object.metadata;
  const metadata = resourceVersion === undefined ? {} : { resourceVersion };
  const items = [{ value: object }];
  return tables.of({ kind: { columns }, items, metadata, version: as.version, query });
}

function objectMeta({ number }: Revision): Record<string, unknown> {
  return number === 0 ? {} : { resourceVersion: String(number) };
}

function withoutType({ kind: _, apiVersion: __, ...rest }: KubeObject): unknown {
  return rest;
}

/** The Warning headers of texts; those with control characters are left out, as upstream does. */
export function warningHeaders(texts: Iterable<string>): string[] {
  return [...texts]
    .filter((text) => !/\p{Cc}/u.test(text))
    .map((text) => {
      const escaped = text.replace(/[\\"]/g, "\\$&");
      return `299 - "${Buffer.from(escaped).toString("latin1")}"`;
    });
}

export function isWhole(body: AnswerBody): body is EncodableBody {
  return body.form !== "watch" && body.form !== "stream" && body.form !== "tunnel";
}
