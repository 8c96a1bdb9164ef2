/**
 * Joins a client that wants another protocol (exec, attach, port-forward over SPDY or WebSocket) to
 * the runtime's own streaming server. The kubelet understands nothing of what goes through.
 */
import { type IncomingMessage, request } from "node:http";
import type { Duplex } from "node:stream";
import { messageOf } from "#lib/caught.ts";

const CONNECT_TIMEOUT_MS = 10_000;

export interface StreamClient {
  readonly message: IncomingMessage;
  readonly socket: Duplex;
  /** Bytes that came after the headers. */
  readonly head: Buffer;
}

/** Resolves when both ends are closed. */
export async function joinRuntime(url: string, client: StreamClient): Promise<void> {
  const { message, socket, head } = client;
  const outgoing = request(url, {
    method: message.method ?? "POST",
    headers: { ...message.headers, host: new URL(url).host },
    agent: false,
  });
  outgoing.setTimeout(CONNECT_TIMEOUT_MS, () => void outgoing.destroy(new Error("i/o timeout")));
  socket.on("error", () => void outgoing.destroy());
  await new Promise<void>((resolve) => {
    outgoing.on("error", (error) => {
      refuse(socket, 502, `error dialing backend: ${messageOf(error)}`);
      resolve();
    });
    outgoing.on("response", (response) => {
      passResponse(response, socket);
      socket.on("close", resolve);
    });
    outgoing.on("upgrade", (response, backend: Duplex, backendHead: Buffer) => {
      outgoing.setTimeout(0);
      socket.write(`HTTP/1.1 101 Switching Protocols\r\n${headerLines(response)}\r\n`);
      if (backendHead.length > 0) socket.write(backendHead);
      if (head.length > 0) backend.write(head);
      pipeBothWays(backend, socket, resolve);
    });
    outgoing.end();
  });
}

/** Ends the connection with a plain answer. */
export function refuse(socket: Duplex, code: number, text: string): void {
  const body = Buffer.from(text);
  const headers = `Content-Type: text/plain; charset=utf-8\r\nContent-Length: ${body.length}`;
  socket.end(
    `HTTP/1.1 ${code} ${REASONS[code] ?? "Error"}\r\n${headers}\r\nConnection: close\r\n\r\n${text}`,
  );
}

const REASONS: Readonly<Record<number, string>> = {
  400: "Bad Request",
  401: "Unauthorized",
  403: "Forbidden",
  404: "Not Found",
  405: "Method Not Allowed",
  500: "Internal Server Error",
  502: "Bad Gateway",
};

/** The runtime did not change the protocol: its answer goes to the client as it is. */
function passResponse(response: IncomingMessage, socket: Duplex): void {
  const { statusCode = 502, statusMessage = "" } = response;
  socket.write(
    `HTTP/1.1 ${statusCode} ${statusMessage}\r\n${headerLines(response)}Connection: close\r\n\r\n`,
  );
  response.pipe(socket);
}

function headerLines({ rawHeaders }: IncomingMessage): string {
  let lines = "";
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    // The body is forwarded decoded, and the connection ends with it.
    if (/^(transfer-encoding)$/i.test(rawHeaders[i]!)) continue;
    lines += `${rawHeaders[i]}: ${rawHeaders[i + 1]}\r\n`;
  }
  return lines;
}

/** Until either end is over; what was written before still goes out. */
function pipeBothWays(backend: Duplex, client: Duplex, done: () => void): void {
  const pipe = (from: Duplex, to: Duplex): void => {
    const finish = (): void => void to.end(() => to.destroy());
    from.on("end", finish);
    from.on("close", finish);
    from.on("error", () => from.destroy());
    from.pipe(to, { end: false });
  };
  pipe(backend, client);
  pipe(client, backend);
  client.on("close", done);
}
