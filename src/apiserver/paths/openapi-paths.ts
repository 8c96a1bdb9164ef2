/** /openapi/v2 and /openapi/v3 with their hashes. */
import { V2_PROTOBUF, V2_PROTOBUF_ASKED } from "#api/openapi/v2-protobuf.ts";
import { type Answer, answer, type OutgoingHeaders, textAnswer } from "../answer.ts";
import type { PathHandler } from "../handler.ts";
import { type Document, type OpenApi, plainText } from "../openapi.ts";
import type { ApiRequest } from "../request.ts";

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
  if (accepts(request, V2_PROTOBUF_ASKED)) {
    return withTag(openApi.v2Protobuf(), request, V2_HEADERS, V2_PROTOBUF);
  }
  if (!accepts(request, JSON_TYPES)) {
    return notAcceptable(V2_HEADERS);
  }
  return withTag(openApi.v2(), request, V2_HEADERS);
}

const V2_HEADERS = { vary: "Accept-Encoding, Accept" };

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
  if (!accepts(request, JSON_TYPES)) return notAcceptable({ vary: "Accept" });
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
  return withTag(openApi.v3(path)!, request, asked === "" ? {} : forever);
}

const NOTHING = new Uint8Array(0);
const JSON_TYPE = "application/json";
const JSON_TYPES = ["*/*", "application/*", JSON_TYPE];

function notAcceptable(headers: OutgoingHeaders): Answer {
  return answer(406, { form: "bytes", contentType: "", bytes: NOTHING }, { headers });
}

function withTag(
  document: Document,
  request: ApiRequest,
  extra: Readonly<Record<string, string>>,
  contentType = JSON_TYPE,
): Answer {
  const headers = { etag: `"${document.hash}"`, vary: "Accept", ...extra };
  if (request.headers["if-none-match"] === headers.etag) {
    return answer(304, { form: "bytes", contentType: "", bytes: NOTHING }, { headers });
  }
  if (/\bgzip\b(?!\s*;\s*q=0(\.0*)?\s*(,|$))/.test(request.headers["accept-encoding"] ?? "")) {
    const zipped = { ...headers, "content-encoding": "gzip" };
    return answer(
      200,
      { form: "bytes", contentType, bytes: document.gzipped },
      { headers: zipped },
    );
  }
  return answer(200, { form: "bytes", contentType, bytes: plainText(document) }, { headers });
}

function accepts({ headers }: ApiRequest, types: readonly string[]): boolean {
  const accept = headers.accept ?? "*/*";
  return accept
    .split(",")
    .map((clause) => clause.split(";")[0]!.trim())
    .some((type) => types.includes(type));
}
