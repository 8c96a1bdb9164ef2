/**
 * The limit that the API server is measured against: Node's own server, sending bytes that lie in
 * memory. Run in a process of its own with the server's keys:
 *
 *     GET /NAME        the bytes of the file NAME, over HTTP/1.1 or HTTP/2
 *     GET /watch       an answer without end
 *     POST /NAME       the bytes of the file NAME to every watch, then an empty answer
 *
 * Prints its port as soon as it listens.
 */
import { readFileSync } from "node:fs";
import { createServer as createHttp1 } from "node:http";
import { createServer as createHttp2 } from "node:http2";
import type { Socket } from "node:net";
import { join } from "node:path";
import { createServer as createTls } from "node:tls";

const [directory = "", pki = ""] = process.argv.slice(2);
const files = new Map<string, Buffer>();
const watches = new Set<Socket>();

const http1 = createHttp1((request, response) => {
  if (request.url === "/watch") {
    response.writeHead(200, { "content-type": "application/json" });
    response.flushHeaders();
    watches.add(request.socket);
    response.on("close", () => watches.delete(request.socket));
    return;
  }
  const bytes = bytesOf(request.url);
  const head = { "content-type": "application/json", "content-length": bytes.length };
  if (request.method !== "POST") {
    response.writeHead(200, head).end(bytes);
    return;
  }
  request.resume().on("end", async () => {
    await sendToAll(bytes);
    response.writeHead(200, { "content-length": 0 }).end();
  });
});
const http2 = createHttp2();
http2.on("stream", (stream, headers) => {
  const bytes = bytesOf(headers[":path"]);
  stream.respond({
    ":status": 200,
    "content-type": "application/json",
    "content-length": bytes.length,
  });
  stream.end(bytes);
});
const server = createTls(
  {
    key: readFileSync(join(pki, "apiserver.key")),
    cert: readFileSync(join(pki, "apiserver.crt")),
    ALPNProtocols: ["h2", "http/1.1"],
  },
  (socket) => {
    socket.on("error", () => undefined);
    socket.setNoDelay(true);
    (socket.alpnProtocol === "h2" ? http2 : http1).emit("connection", socket);
  },
);
server.listen(0, "127.0.0.1", () => {
  const address = server.address();
  process.stdout.write(`${typeof address === "object" ? address?.port : ""}\n`);
});

/** Until the last of them has taken it. */
async function sendToAll(bytes: Buffer): Promise<void> {
  const chunk = Buffer.from(`${bytes.length.toString(16)}\r\n${bytes}\r\n`);
  await Promise.all(
    [...watches].map((watch) => new Promise<unknown>((resolve) => watch.write(chunk, resolve))),
  );
}

function bytesOf(path = "/"): Buffer {
  const known = files.get(path) ?? readFileSync(join(directory, path.slice(1)));
  files.set(path, known);
  return known;
}
