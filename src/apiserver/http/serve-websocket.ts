/**
 * Watches and logs over WebSocket, as pages in a browser use them: each event, and each chunk of a
 * log, is a message. Messages from the client are ignored; the request ends when the client closes.
 */
import { drained } from "#lib/async/drained.ts";
import { acceptWebSocket } from "#lib/websocket/accept.ts";
import type { WebSocketConnection } from "#lib/websocket/connection.ts";
import { encodeFrame } from "#lib/websocket/frames.ts";
import { TOKEN_PROTOCOL_PREFIX } from "../authn/bearer.ts";
import { askedProtocols, type ClientConnection, isWebSocket } from "../proxy/client-connection.ts";
import type { ApiRequest } from "../request/request.ts";
import type { Answer, AnswerBody } from "../response/answer.ts";
import type { ApiServer } from "../server.ts";
import { streamWatch } from "../watch/stream-watch.ts";
import { createFrameEncoder } from "../watch/watch-frames.ts";

type WebSocketBody = Extract<AnswerBody, { form: "watch" | "stream" }>;

/** In which form each subprotocol of a log has its bytes. */
const LOG_PROTOCOLS: Readonly<Record<string, "binary" | "base64">> = {
  "": "binary",
  "binary.k8s.io": "binary",
  "base64.binary.k8s.io": "base64",
};
/** Protobuf messages of a watch begin with their length, which a WebSocket message has itself. */
const LENGTH_BYTES = 4;

export function isForWebSocket({ body }: Answer, { headers }: ApiRequest): boolean {
  return isWebSocket(headers) && (body.form === "watch" || body.form === "stream");
}

/** Resolves when both sides are done. */
export async function serveWebSocket(
  api: Pick<ApiServer, "tables" | "closing" | "watches" | "fanOuts">,
  answer: Answer,
  request: ApiRequest,
  client: ClientConnection,
): Promise<void> {
  const body = answer.body as WebSocketBody;
  if (body.form === "stream") {
    await sendLog(body, client);
    return;
  }
  const asked = protocolsOf(client);
  if (client.headers.origin === undefined || asked.length > 1) {
    body.feed[Symbol.dispose]();
    refuse(client, asked.length > 1 ? "400 Bad Request" : "403 Forbidden");
    return;
  }
  const connection = await acceptWebSocket(client, asked[0]);
  if (connection === undefined) {
    body.feed[Symbol.dispose]();
    return;
  }
  const { socket } = client;
  const text = answer.media.encoding === "json";
  const encode = createFrameEncoder(body.feed.kind, answer.media, request.query, api.tables);
  const listening = listen(connection, client.signal);
  await streamWatch(body.feed, {
    encode: (event) =>
      text
        ? encodeFrame("text", encode(event))
        : encodeFrame("binary", encode(event).subarray(LENGTH_BYTES)),
    count: api.watches.of(body.feed.kind),
    fanOut: api.fanOuts.of(body.feed.kind),
    reply: {
      writeChunk: ({ bytes }) => !connection.isOpen || socket.write(bytes),
      drained: () => drained(socket),
      end: () => connection.close(),
      destroy: () => connection.destroy(),
    },
    signal: listening,
    closing: api.closing,
  });
}

async function sendLog({ stream }: WebSocketBody & { form: "stream" }, client: ClientConnection) {
  const asked = protocolsOf(client);
  const protocol = asked.length === 0 ? "" : asked.find((one) => Object.hasOwn(LOG_PROTOCOLS, one));
  if (protocol === undefined) {
    refuse(client, "403 Forbidden");
    return;
  }
  const connection = await acceptWebSocket(client, protocol === "" ? undefined : protocol);
  if (connection === undefined) return;
  const base64 = LOG_PROTOCOLS[protocol] === "base64";
  const listening = listen(connection, client.signal);
  await connection.send(new Uint8Array(0), base64); // the client learns that there is something to wait for
  for await (const chunk of stream.chunks) {
    if (listening.aborted) return;
    if (base64) await connection.send(Buffer.from(Buffer.from(chunk).toString("base64")), true);
    else await connection.send(chunk);
  }
  connection.close();
}

/** Aborts when the client closes. */
function listen(connection: WebSocketConnection, gone: AbortSignal): AbortSignal {
  const closed = new AbortController();
  const drain = async (): Promise<void> => {
    for await (const _ of connection.messages());
  };
  drain()
    .catch(() => connection.destroy())
    .finally(() => closed.abort());
  return AbortSignal.any([closed.signal, gone]);
}

/** Without the subprotocol that carries a token: it is not negotiated. */
function protocolsOf({ headers }: ClientConnection): string[] {
  return askedProtocols(headers).filter(
    (one) => one !== "" && !one.startsWith(TOKEN_PROTOCOL_PREFIX),
  );
}

function refuse({ socket }: ClientConnection, status: string): void {
  socket.end(`HTTP/1.1 ${status}\r\nConnection: close\r\n\r\n`);
}
