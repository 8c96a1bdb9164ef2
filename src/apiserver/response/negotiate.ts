/**
 * Content negotiation. Two checks, as upstream has them: the route's (is any of
 * its media types among the accepted ones?) and the encoder's (which one, transformed into what?).
 */

import type { Status } from "#api/generated/meta.v1.ts";
import { failure, notAcceptableStatus, type Result, success } from "#api/meta/status.ts";

export type Encoding = "json" | "yaml" | "protobuf";

/** What objects are turned into before they are sent. */
export interface Transform {
  readonly kind: "Table" | "PartialObjectMetadata" | "PartialObjectMetadataList";
  readonly version: "v1" | "v1beta1";
}

export interface Media {
  readonly encoding: Encoding;
  readonly pretty: boolean;
  readonly as: Transform | undefined;
}

export const JSON_MEDIA: Media = { encoding: "json", pretty: false, as: undefined };

export const MEDIA_TYPES: Readonly<Record<Encoding, string>> = {
  json: "application/json",
  yaml: "application/yaml",
  protobuf: "application/vnd.kubernetes.protobuf",
};
const ENCODINGS = Object.keys(MEDIA_TYPES) as readonly Encoding[];
const STREAMED: readonly Encoding[] = ["json", "protobuf"];

export type Headers = Readonly<Record<string, string | undefined>>;

export interface NegotiationOptions {
  readonly headers: Headers;
  readonly query: URLSearchParams;
  /** The answer is a stream of events. */
  readonly watch?: boolean;
  /** Whether the endpoint answers in other forms than its own: true unless given. */
  readonly transforms?: boolean;
  /** Whether one of them is a Table: true unless given. */
  readonly tables?: boolean;
}

export function negotiate(options: NegotiationOptions): Result<Media> {
  const { headers, query, watch = false, transforms = true, tables = true } = options;
  const pretty = wantsPretty(headers, query);
  const accept = headers.accept ?? "";
  if (accept === "" || accept === MEDIA_TYPES.json) {
    return success({ encoding: "json", pretty, as: undefined });
  }
  for (const clause of parseAccept(accept)) {
    const encoding = ENCODINGS.find((one) => clauseCovers(clause, MEDIA_TYPES[one]));
    if (encoding === undefined) continue;
    const media = mediaOf(clause, encoding, pretty, transforms);
    if (media === undefined || (media.as?.kind === "Table" && !tables)) continue;
    if (watch && !STREAMED.includes(encoding)) return failure(notAcceptableStatus(STREAM_TYPES));
    return success(media);
  }
  return failure(notAcceptableStatus(ALL_TYPES));
}

/** The type of a document that a client may ask for by name. */
export interface DocumentType {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

/** The form of a document, if the client asks for such a one anywhere; undefined if it does not. */
export function negotiateDocument(
  headers: Headers,
  query: URLSearchParams,
  type: DocumentType,
): Media | undefined {
  for (const clause of parseAccept(headers.accept ?? "")) {
    const { parameters } = clause;
    const asked =
      parameters.get("as") === type.kind &&
      parameters.get("g") === type.group &&
      parameters.get("v") === type.version;
    const encoding = ENCODINGS.find((one) => clauseCovers(clause, MEDIA_TYPES[one]));
    if (asked && encoding !== undefined) {
      return { encoding, pretty: wantsPretty(headers, query), as: undefined };
    }
  }
  return undefined;
}

/** The media type of a failure: a Status is never transformed, and is JSON if Accept matches nothing. */
export function negotiateFailure(headers: Headers, query: URLSearchParams): Media {
  const media = negotiate({ headers, query, transforms: false });
  return media.ok ? media.value : { ...JSON_MEDIA, pretty: true };
}

const ALL_TYPES = Object.values(MEDIA_TYPES);
const STREAM_TYPES = STREAMED.map((encoding) => `${MEDIA_TYPES[encoding]};stream=watch`);

/**
 * The route's own check; undefined when it passes. It knows only whole media types and "*\/*", and
 * looks at no parameters.
 */
export function refuseByRoute(
  headers: Headers,
  lists: boolean,
  types: readonly string[] = ALL_TYPES,
): Status | undefined {
  const accept = headers.accept ?? "";
  if (accept === "" || types.includes(accept)) return undefined;
  const produced = lists ? [...types, ...STREAM_TYPES] : types;
  for (const part of accept.split(",")) {
    const type = part.split(";")[0]!.trim();
    if (type === "*/*" || produced.includes(type)) return undefined;
  }
  const { code, ...status } = notAcceptableStatus([]);
  const message = `406: Not Acceptable\n\nAvailable representations: ${produced.join(", ")}`;
  return { ...status, message, details: {}, ...(code === undefined ? {} : { code }) };
}

/** Which of the types is asked for first, and most; every client that says nothing takes the first. */
export function firstAccepted(accept: string, types: readonly string[]): string | undefined {
  if (accept === "") return types[0];
  for (const clause of parseAccept(accept)) {
    const covered = types.find((type) => clauseCovers(clause, type));
    if (covered !== undefined) return covered;
  }
  return undefined;
}

/** Whether there is anything in it that could be a media type. */
export function namesAnyType(accept: string): boolean {
  return accept.split(",").some((part) => /^\s*(\*|[^/;]*\/[^/;]*)\s*(;|$)/.test(part));
}

/** The encoding of a request body; undefined if it is none that the server reads. */
export function bodyEncoding(headers: Headers): Encoding | undefined {
  const header = headers["content-type"] ?? "";
  if (header === "") return "json";
  const type = mediaTypeOf(header);
  return ENCODINGS.find((encoding) => MEDIA_TYPES[encoding] === type);
}

/** `application/json; charset=utf-8` → `application/json`. */
export function mediaTypeOf(contentType: string): string {
  return contentType.split(";")[0]!.trim().toLowerCase();
}

interface Clause {
  readonly type: string;
  readonly subtype: string;
  readonly quality: number;
  readonly parameters: ReadonlyMap<string, string>;
}

function parseAccept(accept: string): Clause[] {
  const clauses = accept.split(",").map((part): Clause => {
    const [media = "", ...rest] = part.split(";").map((text) => text.trim());
    const [type = "", subtype = ""] = media.split("/");
    const parameters = new Map(
      rest.map((parameter) => {
        const [name = "", value = ""] = parameter.split("=");
        return [name.trim().toLowerCase(), value.trim()] as const;
      }),
    );
    const quality = Number(parameters.get("q") ?? 1);
    parameters.delete("q");
    return { type, subtype, quality: Number.isNaN(quality) ? 1 : quality, parameters };
  });
  return clauses.sort((a, b) => b.quality - a.quality);
}

function clauseCovers({ type, subtype }: Clause, mediaType: string): boolean {
  const [ourType, ourSubtype] = mediaType.split("/");
  if (type === "*" && subtype === "*") return true;
  return type === ourType && (subtype === ourSubtype || subtype === "*");
}

function mediaOf(
  { parameters }: Clause,
  encoding: Encoding,
  pretty: boolean,
  transforms: boolean,
): Media | undefined {
  const stream = parameters.get("stream") ?? "";
  if (stream !== "" && (stream !== "watch" || !STREAMED.includes(encoding))) return undefined;
  const prettyToo = pretty || parameters.get("pretty") === "1";
  const kind = parameters.get("as") || undefined;
  const group = parameters.get("g") || undefined;
  const version = parameters.get("v") || undefined;
  if (kind === undefined && group === undefined && version === undefined) {
    return { encoding, pretty: prettyToo, as: undefined };
  }
  if (!transforms || group !== "meta.k8s.io") return undefined;
  if (version !== "v1" && version !== "v1beta1") return undefined;
  if (kind === "Table" && encoding === "protobuf") return undefined;
  if (
    kind !== "Table" &&
    kind !== "PartialObjectMetadata" &&
    kind !== "PartialObjectMetadataList"
  ) {
    return undefined;
  }
  return { encoding, pretty: prettyToo, as: { kind, version } };
}

function wantsPretty(headers: Headers, query: URLSearchParams): boolean {
  const asked = query.get("pretty") ?? "";
  if (asked !== "") return /^(1|t|T|TRUE|true|True)$/.test(asked);
  return /^(curl|Wget|Mozilla\/5\.0)/.test(headers["user-agent"] ?? "");
}
