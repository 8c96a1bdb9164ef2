/** A keep-alive connection of HTTP/1.1 that knows just what the benchmark needs. */
import type { TLSSocket } from "node:tls";
import type { Ask, Requester } from "./load.ts";
import { connectTls, type Identity } from "./tls-identity.ts";

const HEAD_END = Buffer.from("\r\n\r\n");
const LAST_CHUNK = Buffer.from("0\r\n\r\n");
/** More than there is: where no length is announced, the last chunk is the end. */
const CHUNKED = Number.MAX_SAFE_INTEGER;
const EVENT_END = "}".charCodeAt(0);
const NEWLINE = 10;

export async function openHttp1(port: number, identity: Identity): Promise<Requester> {
  let pending: { resolve(body: Buffer): void; reject(error: Error): void } | undefined;
  let keep = false;
  let chunks: Buffer[] = [];
  let missing = -1; // bytes of the body, as soon as the head has been read
  let code = 0;
  const finish = (): void => {
    const body = Buffer.concat(chunks);
    const { resolve, reject } = pending!;
    [pending, chunks, missing] = [undefined, [], -1];
    if (code < 300) resolve(body);
    else reject(new Error(`${code}: ${body.toString().slice(0, 500)}`));
  };
  const onData = (received: Buffer): void => {
    let chunk = received;
    if (missing < 0) {
      const end = chunk.indexOf(HEAD_END);
      if (end < 0) throw new Error("a response head in two reads"); // servers write heads at once
      const head = chunk.toString("latin1", 0, end);
      code = Number(head.slice(9, 12));
      missing = Number(/content-length: (\d+)/i.exec(head)?.[1] ?? CHUNKED);
      chunk = chunk.subarray(end + HEAD_END.length);
    }
    missing -= chunk.length;
    if (keep || code >= 300) chunks.push(Buffer.from(chunk));
    if (missing <= 0 || (missing > CHUNKED / 2 && isLastChunk(chunk))) finish();
  };
  const socket = await connectTls(port, identity, "http/1.1", onData);
  socket.on("error", (error) => pending?.reject(error));
  socket.on("close", () => pending?.reject(new Error("the connection was closed")));
  return {
    ask: (ask) => {
      keep = ask.keep === true;
      socket.write(requestText(ask));
      return new Promise((resolve, reject) => {
        pending = { resolve, reject };
      });
    },
    [Symbol.dispose]: () => socket.destroy(),
  };
}

/** A watch on a separate connection that counts its events. */
export async function openWatch(
  port: number,
  identity: Identity,
  path: string,
  onEvents: (count: number) => void,
): Promise<TLSSocket> {
  let last = 0;
  let started: (() => void) | undefined;
  const socket = await connectTls(port, identity, "http/1.1", (chunk) => {
    if (started !== undefined) {
      started();
      started = undefined;
      return;
    }
    // Lines that end an event; those of the chunked encoding do not follow a brace.
    let count = 0;
    for (let at = chunk.indexOf(NEWLINE); at >= 0; at = chunk.indexOf(NEWLINE, at + 1)) {
      if ((at === 0 ? last : chunk[at - 1]) === EVENT_END) count += 1;
    }
    last = chunk[chunk.length - 1]!;
    if (count > 0) onEvents(count);
  });
  const head = new Promise<void>((resolve) => {
    started = resolve;
  });
  socket.write(requestText({ method: "GET", path }));
  await head;
  return socket;
}

/** Servers write it at once; what it follows ends with a brace. */
function isLastChunk(chunk: Buffer): boolean {
  return chunk.subarray(-LAST_CHUNK.length).equals(LAST_CHUNK);
}

function requestText({ method, path, contentType, body }: Ask): string {
  const head = `${method} ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: application/json\r\n`;
  if (body === undefined) return `${head}\r\n`;
  const length = Buffer.byteLength(body);
  return `${head}Content-Type: ${contentType}\r\nContent-Length: ${length}\r\n\r\n${body}`;
}
