/** Connections that want to change their protocol: asked for like any request, then joined. */
import { STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";
import { unknownStatus } from "#api/meta/status.ts";
import { messageOf } from "#lib/caught.ts";
import { runTunnel } from "../proxy/tunnel.ts";
import type { ApiRequest, Peer } from "../request/request.ts";
import { type Answer, statusAnswer } from "../response/answer.ts";
import { encodeAnswer, isWhole } from "../response/encode-answer.ts";
import type { ApiServer } from "../server.ts";
import type { UpgradeRequest } from "./exchange-runner.ts";
import { parseQuery } from "./parse-query.ts";
import { headersOf } from "./serve.ts";
import { isForWebSocket, serveWebSocket } from "./serve-websocket.ts";
import { splitUrl } from "./split-url.ts";

export async function serveUpgrade(
  api: Pick<ApiServer, "handle" | "tables" | "newAuditId" | "closing" | "watches" | "fanOuts">,
  incoming: UpgradeRequest,
  peer: Peer,
  socket: Duplex,
  head: Buffer,
): Promise<void> {
  const { handle, tables, newAuditId } = api;
  const controller = new AbortController();
  socket.on("close", () => controller.abort(new Error("the client is gone")));
  const rawUrl = incoming.url;
  const split = splitUrl(rawUrl);
  if (split === undefined) {
    socket.end("HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n");
    return;
  }
  const request: ApiRequest = {
    method: incoming.method,
    path: split.path,
    rawUrl,
    query: parseQuery(split.query),
    headers: incoming.headers,
    rawHeaders: incoming.rawHeaders,
    auditId: incoming.headers["audit-id"] || newAuditId(),
    authenticated: () => incoming.authenticated?.(),
    body: { form: "none" },
    peer,
    signal: controller.signal,
  };
  const client = { socket, head, headers: request.headers, signal: request.signal };
  const answer = await handle(request);
  try {
    if (answer.body.form === "tunnel") await tunnel(answer);
    else if (isForWebSocket(answer, request)) await serveWebSocket(api, answer, request, client);
    else sendWhole(answer, request, socket, tables);
  } finally {
    answer.sent?.();
  }

  async function tunnel({ body }: Answer): Promise<void> {
    if (body.form !== "tunnel") return;
    try {
      await runTunnel(body.tunnel, client);
    } catch (error) {
      const why = messageOf(error);
      sendWhole(statusAnswer(unknownStatus(why)), request, socket, tables);
    }
  }
}

/** The protocol stays HTTP/1.1: an answer, and the end. */
function sendWhole(
  answer: Answer,
  request: ApiRequest,
  socket: Duplex,
  tables: ApiServer["tables"],
): void {
  const { code, body, media } = answer;
  if (!isWhole(body)) {
    socket.end("HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n");
    return;
  }
  const { contentType, bytes } = encodeAnswer(body, media, request.query, tables);
  const lines = [
    `HTTP/1.1 ${code} ${STATUS_CODES[code] ?? ""}`,
    `Content-Type: ${contentType}`,
    `Content-Length: ${bytes.length}`,
    "Connection: close",
    ...Object.entries(headersOf(answer, request)).map(([name, value]) => `${name}: ${value}`),
  ];
  socket.write(`${lines.join("\r\n")}\r\n\r\n`);
  socket.end(bytes);
}
