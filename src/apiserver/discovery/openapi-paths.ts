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

export function openApiPaths(openApi: OpenApi, nowMs: () => number): PathHandler {
  return (request) => {
    if (request.path === "/openapi/v2") return answerV2(openApi, request);
    if (request.path === "/openapi/v3") return answerRoot(openApi);
    if (!request.path.startsWith(BELOW)) return undefined;
    return answerV3(openApi, request.path.slice(BELOW.length), request, nowMs());
  };
}

function answerV2(openApi: OpenApi, request: ApiRequest): Answer {
  const type = firstAccepted(request.headers.accept ?? "", [JSON_TYPE, ...V2_PROTOBUF_ASKED]);
  const headers = { vary: ["Accept-Encoding", "Accept"] };
  if (type === undefined) return notAcceptable(headers);
  return type === JSON_TYPE
    ? withTag(openApi.v2(), request, headers)
    : withTag(openApi.v2Protobuf(), request, headers, V2_PROTOBUF);
}

function answerRoot(openApi: OpenApi): Answer {
  const paths = Object.fromEntries(
    openApi.paths().map((path) => {
      const serverRelativeURL = `/openapi/v3/${path}?hash=${openApi.hashOf(path)}`;
      return [path, { serverRelativeURL }];
    }),
  );
  return textAnswer(200, JSON.stringify({ paths }));
}

function answerV3(openApi: OpenApi, path: string, request: ApiRequest, nowMs: number): Answer {
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
  const hash = openApi.hashOf(path);
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
    ? withTag(openApi.v3(path)!, request, headers)
    : withTag(openApi.v3Protobuf(path)!, request, headers, V3_PROTOBUF);
}

const NOTHING = new Uint8Array(0);
const JSON_TYPE = "application/json";

function notAcceptable(headers: OutgoingHeaders): Answer {
  return answer(406, { form: "bytes", contentType: "", bytes: NOTHING }, { headers });
}

function withTag(
  document: Document,
  request: ApiRequest,
  extra: OutgoingHeaders,
  contentType = JSON_TYPE,
): Answer {
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
  return answer(200, { form: "bytes", contentType, bytes: plainText(document) }, { headers });
}
