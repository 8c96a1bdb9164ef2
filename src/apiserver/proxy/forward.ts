/**
 * Hands a request on to another server and its answer back, as they come. Headers that belong to one
 * connection stay where they are, and so do the credentials that were meant for this server.
 */
import { type IncomingMessage, request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import type { IsCredentialHeader } from "../authn/credential-headers.ts";
import type { ApiRequest } from "../request/request.ts";
import type { OutgoingHeaders } from "../response/answer.ts";
import { connectionOf, limitConnecting } from "./dial.ts";
import { dialFault } from "./dial-fault.ts";
import { type ProxyPlace, rewriteHtml, rewriteUrl } from "./rewrite-html.ts";
import type { Target } from "./target.ts";

export interface Forwarded {
  readonly code: number;
  readonly headers: OutgoingHeaders;
  readonly chunks: AsyncIterable<Uint8Array>;
}

/** Rejects, saying why, if the target cannot be reached. */
export function forward(
  request: Pick<ApiRequest, "method" | "body" | "signal">,
  target: Target,
  headers: OutgoingHeaders,
): Promise<Forwarded> {
  return new Promise((resolve, reject) => {
    const { secure, host, port, path, tls } = target;
    const { signal, method } = request;
    const outgoing = (secure ? requestHttps : requestHttp)({
      method,
      host,
      port,
      path,
      headers: headers as Record<string, string | string[]>,
      ...(target.connect === undefined ? {} : connectionOf(target)),
      signal,
      ...(secure ? { ...tls, rejectUnauthorized: tls?.verify ?? false } : {}),
    });
    limitConnecting(outgoing, target);
    outgoing.on("error", (error) => reject(new Error(dialFault(error, target))));
    outgoing.on("response", (response) => {
      const code = response.statusCode ?? 502;
      resolve({ code, headers: answeredHeaders(response), chunks: response });
    });
    sendBody(request, outgoing);
  });
}

const PAGE_BYTES_MAX = 16 * 1024 * 1024;
/** What pages of the proxied server may allow other origins is not this server's to allow. */
const CROSS_ORIGIN = /^access-control-allow-(credentials|headers|methods|origin)$/;

/** The answer with its links led through the proxy. */
export async function rewriteAnswer(answer: Forwarded, place: ProxyPlace): Promise<Forwarded> {
  const headers = Object.fromEntries(
    Object.entries(answer.headers).filter(([name]) => !CROSS_ORIGIN.test(name)),
  );
  const { location } = headers;
  if (typeof location === "string" && location !== "") {
    return { ...answer, headers: { ...headers, location: rewriteUrl(location, place) } };
  }
  const type = String(headers["content-type"] ?? "")
    .split(";")[0]!
    .trim();
  if (type !== "text/html") return { ...answer, headers };
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of answer.chunks) {
    chunks.push(chunk);
    length += chunk.length;
    if (length > PAGE_BYTES_MAX)
      throw new Error("the page is too long for its links to be rewritten");
  }
  const body = Buffer.concat(chunks);
  const encoding = headers["content-encoding"] as string | undefined;
  const rewritten = rewriteHtml(body, encoding, place) ?? body;
  return {
    code: answer.code,
    headers: { ...headers, "content-length": String(rewritten.length) },
    chunks: (async function* () {
      yield rewritten;
    })(),
  };
}

function sendBody(
  { body }: Pick<ApiRequest, "body">,
  outgoing: ReturnType<typeof requestHttp>,
): void {
  if (body.form === "stream") {
    body.stream.pipe(outgoing);
    return;
  }
  if (body.form === "bytes") outgoing.end(body.bytes);
  else if (body.form === "object") outgoing.end(JSON.stringify(body.object));
  else outgoing.end();
}

const HOP_BY_HOP: ReadonlySet<string> = new Set([
  "connection",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
  "http2-settings",
]);

/** What another server may know of the request; the host stays the one that the client asked for. */
export function forwardedHeaders(
  { headers, peer }: ApiRequest,
  isCredential: IsCredentialHeader,
): Record<string, string> {
  const listed = (headers.connection ?? "").split(",").map((name) => name.trim().toLowerCase());
  const all: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (value === undefined || name.startsWith(":") || isCredential(name)) continue;
    if (HOP_BY_HOP.has(name) || listed.includes(name)) continue;
    all[name] = value;
  }
  const host = headers.host ?? headers[":authority"];
  if (host !== undefined) all.host = host;
  const before = headers["x-forwarded-for"];
  all["x-forwarded-for"] = before === undefined ? peer.address : `${before}, ${peer.address}`;
  return all;
}

function answeredHeaders({ headers }: IncomingMessage): OutgoingHeaders {
  const all: Record<string, string | readonly string[]> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined && !HOP_BY_HOP.has(name)) all[name] = value;
  }
  return all;
}
