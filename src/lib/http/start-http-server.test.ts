import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { get, request } from "node:http";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test } from "vitest";
import { type HttpServerOptions, startHttpServer } from "./start-http-server.ts";

const HERE = { host: "127.0.0.1", port: 0 };
const hello: HttpServerOptions["request"] = (_message, reply) => void reply.end("hello");

async function textOf(url: string | { readonly socketPath: string }): Promise<string> {
  const [response] = await once(get(url), "response");
  let text = "";
  for await (const chunk of response) text += chunk;
  return text;
}

describe("startHttpServer", () => {
  test("serves on a TCP port, and on a unix socket", async () => {
    const life = new AbortController();
    const directory = await mkdtemp(join(tmpdir(), "k8ts-"));
    const path = join(directory, "s.sock");
    const tcp = await startHttpServer({ at: HERE, request: hello }, life.signal);
    const unix = await startHttpServer({ at: { path }, request: hello }, life.signal);
    assert.equal(await textOf(`http://127.0.0.1:${tcp.port}/`), "hello");
    assert.equal(await textOf({ socketPath: path }), "hello");
    assert.equal(unix.port, 0);
    life.abort();
    await Promise.all([tcp.closed, unix.closed]);
    await rm(directory, { recursive: true });
  });

  test("ends idle and upgraded connections when the signal aborts", async () => {
    const life = new AbortController();
    const upgrade: HttpServerOptions["upgrade"] = (_message, socket) =>
      void socket.write(
        "HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n",
      );
    const server = await startHttpServer({ at: HERE, request: hello, upgrade }, life.signal);
    const { port } = server;
    const idle = connect(port, "127.0.0.1");
    await once(idle, "connect");
    const headers = { connection: "upgrade", upgrade: "x" };
    const asked = request({ port, host: "127.0.0.1", headers }).end();
    const [, upgraded] = await once(asked, "upgrade");
    const ended = [idle, upgraded].map((socket) => once(socket.resume(), "close"));
    life.abort();
    await Promise.all([...ended, server.closed]);
  });

  test("refuses connections that are not accepted, and a port that is taken", async () => {
    const life = new AbortController();
    const accepts = (): boolean => false;
    const server = await startHttpServer({ at: HERE, request: hello, accepts }, life.signal);
    await assert.rejects(textOf(`http://127.0.0.1:${server.port}/`));
    const again = { at: { ...HERE, port: server.port }, request: hello };
    await assert.rejects(startHttpServer(again, life.signal), /EADDRINUSE/);
    life.abort();
    await server.closed;
  });
});
