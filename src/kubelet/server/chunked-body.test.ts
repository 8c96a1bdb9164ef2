import assert from "node:assert/strict";
import { createServer } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { describe, onTestFinished, test } from "vitest";
import { sendChunks } from "./chunked-body.ts";

const LARGE = Buffer.alloc(600_000, "0123456789");

async function* chunks(): AsyncGenerator<Uint8Array> {
  yield Buffer.from("first\n");
  yield Buffer.alloc(0);
  yield LARGE;
  yield Buffer.from("last\n");
}

async function start(): Promise<number> {
  const server = createServer((_message, reply) => {
    reply.writeHead(200, { "content-type": "text/plain" });
    void sendChunks(reply, chunks());
  });
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return (server.address() as AddressInfo).port;
}

describe("kubelet server: chunked body", () => {
  test("a client of HTTP/1.1 gets all chunks, and the connection is kept for its next request", async () => {
    const port = await start();
    for (let i = 0; i < 2; i++) {
      const answer = await fetch(`http://127.0.0.1:${port}/`);
      assert.equal(answer.headers.get("transfer-encoding"), "chunked");
      assert.equal(answer.headers.get("connection"), "keep-alive");
      assert.equal(await answer.text(), `first\n${LARGE.toString()}last\n`);
    }
  });

  test("a client of HTTP/1.0 gets the bytes of the body without chunked framing", async () => {
    const socket = connect(await start(), "127.0.0.1");
    socket.write("GET / HTTP/1.0\r\n\r\n");
    const parts: Buffer[] = [];
    for await (const part of socket) parts.push(part as Buffer);
    const [head = "", body] = Buffer.concat(parts).toString().split("\r\n\r\n");
    assert.doesNotMatch(head, /chunked/i);
    assert.equal(body, `first\n${LARGE.toString()}last\n`);
  });
});
