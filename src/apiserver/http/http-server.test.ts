/** How connections live and end. What goes over them is tested with the whole server. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { connect as connectHttp2 } from "node:http2";
import { connect } from "node:tls";
import { afterAll, beforeAll, describe, test } from "vitest";
import { silentLogger } from "#lib/logger.ts";
import { systemClock } from "#lib/time/system-clock.ts";
import { servingPair } from "#testing/serving-pair.ts";
import { startHttpThread } from "../http-thread/http-thread.ts";
import type { Reply } from "./exchange.ts";
import { type HttpServer, type HttpServerOptions, startHttpServer } from "./http-server.ts";

const IDLE_MAX_MS = 60;

/** More than the kernel buffers. */
const BODY_BYTES = 64 * 1024 * 1024;

/** A request that was made as the connection ended, on a machine that is slow just then. */
const tooLate = (): void => undefined;

describe.each([
  ["HTTP server in this thread", startHttpServer],
  [
    "HTTP server in the HTTP thread",
    (options: HttpServerOptions) => startHttpThread().listen(options),
  ],
])("%s", (_, start) => {
  let server: HttpServer;
  /** Answers that the test has to end. */
  const open: Reply[] = [];

  beforeAll(async () => {
    server = await start({
      tls: { context: servingPair(), authorities: {} },
      host: "127.0.0.1",
      port: 0,
      clock: systemClock,
      logger: silentLogger,
      idleMaxMs: IDLE_MAX_MS,
      handle: async ({ url }, reply) => {
        if (url === "/watch") {
          reply.start(200, {});
          open.push(reply);
        } else if (url === "/broken") {
          reply.start(200, {});
          reply.write(Buffer.from("half"));
          open.push(reply);
        } else reply.send(200, {}, Buffer.from("ok"));
      },
      upgrade: async () => undefined,
    });
  });

  afterAll(() => server.close(0));

  test("a body that is not read: the response arrives before the server disconnects", async () => {
    const socket = connect({ host: "127.0.0.1", port: server.port, rejectUnauthorized: false });
    socket.on("error", () => undefined); // the server reads no more
    let answer = "";
    socket.on("data", (chunk: Buffer) => {
      answer += chunk;
    });
    const closed = new Promise<void>((resolve) => socket.once("close", () => resolve()));
    socket.write(`POST / HTTP/1.1\r\nHost: x\r\nContent-Length: ${BODY_BYTES}\r\n\r\n`);
    const chunk = Buffer.alloc(1024 * 1024);
    let takenBytes = 0;
    const send = (): void => {
      socket.write(chunk, (error) => {
        if (error) return;
        takenBytes += chunk.length;
        if (takenBytes < BODY_BYTES) send();
      });
    };
    send();
    await closed;
    assert.match(answer, /^HTTP\/1\.1 200 OK/);
    // Most of it is in the buffers of the kernel.
    assert.ok(takenBytes < BODY_BYTES / 2, `${takenBytes} of ${BODY_BYTES} bytes`);
  });

  test("--goaway-chance: the connection ends after its request, with GOAWAY", async () => {
    const own = await start({
      tls: { context: servingPair(), authorities: {} },
      host: "127.0.0.1",
      port: 0,
      clock: systemClock,
      logger: silentLogger,
      goawayChance: 1,
      handle: async (_request, reply) => reply.send(200, {}, Buffer.from("ok")),
      upgrade: async () => undefined,
    });
    const session = connectHttp2(`https://127.0.0.1:${own.port}`, { rejectUnauthorized: false });
    const goaway = once(session, "goaway");
    const stream = session.request({ ":path": "/" });
    const [headers] = (await once(stream, "response")) as [Record<string, unknown>];
    assert.equal(headers[":status"], 200);
    stream.resume();
    const [code] = (await goaway) as [number];
    assert.equal(code, 0);
    session.destroy();
    await own.close(0);
  });

  test("a response that is aborted ends with RST_STREAM over HTTP/2, never with END_STREAM", async () => {
    const session = connectHttp2(`https://127.0.0.1:${server.port}`, { rejectUnauthorized: false });
    const stream = session.request({ ":path": "/broken" });
    stream.on("data", () => open.pop()!.destroy());
    const [error] = (await once(stream, "error")) as [Error];
    assert.match(error.message, /NGHTTP2_INTERNAL_ERROR/);
    session.destroy();
  });

  test("a response that is aborted ends without the last chunk over HTTP/1.1", async () => {
    const socket = connect({ port: server.port, host: "127.0.0.1", rejectUnauthorized: false });
    socket.write("GET /broken HTTP/1.1\r\nHost: x\r\n\r\n");
    let got = "";
    socket.on("data", (chunk: Buffer) => {
      got += chunk.toString();
      if (got.includes("half")) open.pop()?.destroy();
    });
    socket.on("error", () => undefined);
    await once(socket, "close");
    assert.match(got, /half/);
    assert.doesNotMatch(got, /\r\n0\r\n/);
  });

  test("TLS renegotiation that a client asks for is refused", async () => {
    const to = { port: server.port, host: "127.0.0.1", rejectUnauthorized: false };
    const socket = connect({ ...to, minVersion: "TLSv1.2", maxVersion: "TLSv1.2" });
    await once(socket, "secureConnect");
    const outcome = new Promise<Error | null>((resolve) => {
      socket.once("error", resolve);
      socket.renegotiate({ rejectUnauthorized: false }, resolve);
    });
    assert.match(String(await outcome), /no renegotiation|closed|reset/i);
    socket.destroy();
  });

  describe("a connection on which nothing is asked for is ended", () => {
    test("HTTP/1.1, after an answer", async () => {
      const socket = connect({ port: server.port, host: "127.0.0.1", rejectUnauthorized: false });
      socket.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
      socket.resume();
      const startMs = performance.now();
      await new Promise((resolve) => socket.once("end", resolve));
      assert.ok(performance.now() - startMs >= IDLE_MAX_MS - 1);
    });

    test("HTTP/2, with GOAWAY", async () => {
      const session = http2();
      const goaway = new Promise((resolve) => session.once("goaway", resolve));
      session.request({ ":path": "/" }).on("error", tooLate).resume();
      assert.equal(await goaway, 0);
      await new Promise((resolve) => session.once("close", resolve));
    });

    test("a connection with an open watch is kept, however quiet", async () => {
      const { ended } = await watching();
      const waited = new Promise<"open">((resolve) =>
        systemClock.schedule(3 * IDLE_MAX_MS, () => resolve("open")),
      );
      assert.equal(await Promise.race([ended, waited]), "open");
      open.pop()!.end();
      assert.equal(await ended, "ended"); // idle from now on
    });

    /** Opens a watch; `ended` resolves when its connection ends. */
    async function watching(): Promise<{ ended: Promise<"ended"> }> {
      for (;;) {
        const session = http2();
        const ended = new Promise<"ended">((resolve) =>
          session.once("close", () => resolve("ended")),
        );
        const stream = session.request({ ":path": "/watch" }).on("error", tooLate).resume();
        const answered = new Promise((resolve) => stream.once("response", resolve));
        // It may have been idle for too long before it asked.
        if ((await Promise.race([answered, ended])) !== "ended") return { ended };
      }
    }

    function http2() {
      return connectHttp2(`https://127.0.0.1:${server.port}`, { rejectUnauthorized: false });
    }
  });
});
