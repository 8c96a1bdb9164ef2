/** /openapi/v2 and /openapi/v3 with their hashes. */
import { V2_PROTOBUF, V2_PROTOBUF_ASKED } from "#api/openapi/v2-protobuf.ts";
import { V3_PROTOBUF, V3_PROTOBUF_ASKED } from "#api/openapi/v3-protobuf.ts";
import type { PathHandler } from "../request/handler.ts";
import type { ApiRequest } from "../request/request.ts";
import { type Answer, answer, type OutgoingHeaders, textAnswer } from "../response/answer.ts";
import { firstAccepted, namesAnyType } from "../response/negotiate.ts";
import { type Document, type OpenApi, plainText } from "./openapi.ts";

const BELOW = "/openapi/v3/";
const YEAR_SECONDS = 31_536_000;

/** Documents of version 3 that aggregated servers have. */
export interface RemoteSchemas {
  /** By path (`apis/GROUP/VERSION`): the URL with its hash. */
  paths(): Iterable<readonly [path: string, url: string]>;
  /** Undefined if it is no path of theirs. */
  readonly answer: PathHandler;
}

export function openApiPaths(
  openApi: OpenApi,
  nowMs: () => number,
  remote?: RemoteSchemas,
): PathHandler {
  return (request, info, user) => {
    if (request.path === "/openapi/v2") return answerV2(openApi, request);
    if (request.path === "/openapi/v3") return answerRoot(openApi, remote);
    if (!request.path.startsWith(BELOW)) return undefined;
    const elsewhere = remote?.answer(request, info, user);
    if (elsewhere !== undefined) return elsewhere;
    return answerV3(openApi, request.path.slice(BELOW.length), request, nowMs());
  };
}

async function answerV2(openApi: OpenApi, request: ApiRequest): Promise<Answer> {
  const type = firstAccepted(request.headers.accept ?? "", [JSON_TYPE, ...V2_PROTOBUF_ASKED]);
  const headers = { vary: ["Accept-Encoding", "Accept"] };
  if (type === undefined) return notAcceptable(headers);
  return type === JSON_TYPE
    ? withTag(await openApi.v2(), request, headers)
    : withTag(await openApi.v2Protobuf(), request, headers, V2_PROTOBUF);
}

async function answerRoot(openApi: OpenApi, remote: RemoteSchemas | undefined): Promise<Answer> {
  const paths: Record<string, { serverRelativeURL: string }> = {};
  for (const [path, hash] of await openApi.hashes()) {
    paths[path] = { serverRelativeURL: `/openapi/v3/${path}?hash=${hash}` };
  }
  for (const [path, serverRelativeURL] of remote?.paths() ?? []) {
    paths[path] = { serverRelativeURL };
  }
  return textAnswer(200, JSON.stringify({ paths }));
}

async function answerV3(
  openApi: OpenApi,
  path: string,
  request: ApiRequest,
  nowMs: number,
): Promise<Answer> {
  if (!openApi.paths().includes(path)) {
    return answer(404, { form: "bytes", contentType: "", bytes: NOTHING });
  }
  const accept = request.headers.accept ?? "";
  // Who accepts nothing that could be a type gets nothing, and no complaint.
  if (accept !== "" && !namesAnyType(accept)) {
    return answer(200, { form: "bytes", contentType: "", bytes: NOTHING });
  }
  const type = firstAccepted(accept, [JSON_TYPE, ...V3_PROTOBUF_ASKED]);
  if (type === undefined) return notAcceptable({ vary: "Accept" });
  const asked = request.query.get("hash") ?? "";
  const hash = await openApi.hashOf(path);
  if (asked !== "" && asked !== hash) {
    const headers = { location: `/openapi/v3/${path}?hash=${hash}`, vary: "Accept" };
    return answer(301, { form: "bytes", contentType: JSON_TYPE, bytes: NOTHING }, { headers });
  }
  // Under its hash a document never changes.
  const forever = {
    "cache-control": "public, immutable",
    expires: new Date(nowMs + YEAR_SECONDS * 1000).toUTCString(),
  };
  const headers = { vary: "Accept", ...(asked === "" ? {} : forever) };
  return type === JSON_TYPE
    ? withTag(await openApi.v3(path), request, headers)
    : withTag(await openApi.v3Protobuf(path), request, headers, V3_PROTOBUF);
}

const NOTHING = new Uint8Array(0);
const JSON_TYPE = "application/json";

function notAcceptable(headers: OutgoingHeaders): Answer {
  return answer(406, { form: "bytes", contentType: "", bytes: NOTHING }, { headers });
}

async function withTag(
  document: Document | undefined,
  request: ApiRequest,
  extra: OutgoingHeaders,
  contentType = JSON_TYPE,
): Promise<Answer> {
  if (document === undefined) {
    return answer(404, { form: "bytes", contentType: "", bytes: NOTHING }); // it has just gone
  }
  const headers = { etag: `"${document.hash}"`, ...extra };
  if (request.headers["if-none-match"] === headers.etag) {
    return answer(304, { form: "bytes", contentType: "", bytes: NOTHING }, { headers });
  }
  if (/\bgzip\b(?!\s*;\s*q=0(\.0*)?\s*(,|$))/i.test(request.headers["accept-encoding"] ?? "")) {
    const zipped = { ...headers, "content-encoding": "gzip" };
    return answer(
      200,
      { form: "bytes", contentType, bytes: document.gzipped },
      { headers: zipped },
    );
  }
  const bytes = await plainText(document);
  return answer(200, { form: "bytes", contentType, bytes }, { headers });
}
