/** The HTTP server behaves the same in the main thread and in the HTTP thread. */
import assert from "node:assert/strict";
import type { ClientRequest, IncomingMessage } from "node:http";
import { request as send } from "node:https";
import type { Duplex } from "node:stream";
import { buffer } from "node:stream/consumers";
import { afterAll, beforeAll, describe, test } from "vitest";
import { nextTurn } from "#lib/async/next-turn.ts";
import { silentLogger } from "#lib/logger.ts";
import { systemClock } from "#lib/time/system-clock.ts";
import { servingPair } from "#testing/serving-pair.ts";
import { AHEAD_BYTES_MAX, BODY_BYTES_MAX, type HttpRequest, type Reply } from "../http/exchange.ts";
import { type HttpServer, type HttpServerOptions, startHttpServer } from "../http/http-server.ts";
import { startHttpThread } from "./http-thread.ts";

const MANY_BYTES = 3_000_000;
const PROXIED = "/api/v1/nodes/n/proxy/x";

describe.each([
  ["in this thread", startHttpServer],
  ["in the HTTP thread", (options: HttpServerOptions) => startHttpThread().listen(options)],
])("HTTP thread: %s", (_, start) => {
  let server: HttpServer;
  let handle: (request: HttpRequest, reply: Reply) => Promise<void>;
  let upgrade: (socket: Duplex) => void;

  const options: HttpServerOptions = {
    tls: { context: servingPair(), authorities: {} },
    host: "127.0.0.1",
    port: 0,
    clock: systemClock,
    logger: silentLogger,
    expire: (_request, reply) => {
      if (!reply.started) reply.send(504, {}, Buffer.from("late"));
    },
    handle: (request, reply) => handle(request, reply),
    upgrade: async (_request, _peer, socket) => upgrade(socket),
  };

  beforeAll(async () => {
    server = await start(options);
  });

  afterAll(() => server.close(0));

  test("request and response carry head and body", async () => {
    handle = async (request, reply) => {
      const body = await request.readBody();
      const said = `${request.method} ${request.url} ${request.headers["x-a"]}`;
      reply.send(201, { "x-b": said, "x-peer": request.peer.address }, Buffer.from(body!));
    };
    const { answer, text } = await ask("POST", "/p?q=1", { "x-a": "y" }, "sent");
    assert.equal(text, "sent");
    assert.equal(answer.statusCode, 201);
    assert.equal(answer.headers["x-b"], "POST /p?q=1 y");
    assert.equal(answer.headers["x-peer"], "127.0.0.1");
  });

  test("a request body over the limit is dropped", async () => {
    handle = async (request, reply) =>
      reply.send(200, {}, Buffer.from(String(await request.readBody())));
    const { text } = await ask("POST", "/", {}, Buffer.alloc(BODY_BYTES_MAX + 1));
    assert.equal(text, "undefined");
  });

  test("a request whose body does not arrive gets 504 after the timeout", async () => {
    handle = async (request) => void (await request.readBody());
    const hasty = await start({ ...options, timeoutMs: 100 });
    const asking = begin("POST", "/", { "content-length": "10" }, hasty);
    asking.write("abc");
    const { answer, text } = await answerOf(asking);
    assert.deepEqual([answer.statusCode, text], [504, "late"]);
    await hasty.close(0);
  });

  test("the body of a proxy request is streamed with back pressure", async () => {
    handle = async (request, reply) => {
      let length = 0;
      for await (const chunk of request.bodyStream) {
        length += chunk.length;
        await nextTurn();
      }
      reply.send(200, {}, Buffer.from(String(length)));
    };
    const { text } = await ask("POST", PROXIED, {}, Buffer.alloc(MANY_BYTES));
    assert.equal(text, String(MANY_BYTES));
  });

  test("write returns false while the client does not read; drained resolves when it reads again", async () => {
    let ahead = 0;
    const chunk = Buffer.alloc(AHEAD_BYTES_MAX / 4, "x");
    let blocked = (): void => undefined;
    const isBlocked = new Promise<void>((resolve) => {
      blocked = resolve;
    });
    handle = async (_request, reply) => {
      reply.start(200, {});
      for (let left = 400; left > 0; left--) {
        if (reply.write(chunk)) {
          ahead += chunk.length;
          await nextTurn();
          continue;
        }
        blocked();
        await reply.drained();
      }
      reply.end();
    };
    const asking = begin("GET", "/");
    asking.end();
    const answer = await responseTo(asking);
    await isBlocked; // it has not read anything
    assert.ok(ahead < 100 * chunk.length, `${ahead} bytes were taken`);
    assert.equal((await buffer(answer)).length, 400 * chunk.length);
  });

  test("the request's signal aborts when the client disconnects", async () => {
    const left = new Promise<boolean>((resolve) => {
      handle = async (request, reply) => {
        reply.start(200, {});
        request.signal.addEventListener("abort", () => resolve(reply.gone));
      };
    });
    const asking = begin("GET", "/");
    asking.on("error", () => undefined);
    asking.end();
    await responseTo(asking);
    asking.destroy();
    assert.equal(await left, true);
  });

  test("an upgraded connection carries megabytes in both directions", async () => {
    upgrade = (socket) => {
      socket.write(SWITCHED);
      socket.pipe(socket);
    };
    const socket = await changed();
    const sent = Buffer.alloc(MANY_BYTES, "abc");
    const echoed: Buffer[] = [];
    let length = 0;
    const all = new Promise<void>((resolve) => {
      socket.on("data", (chunk: Buffer) => {
        echoed.push(chunk);
        length += chunk.length;
        if (length >= sent.length) resolve();
      });
    });
    socket.write(sent);
    await all;
    assert.ok(Buffer.concat(echoed).equals(sent));
    socket.destroy();
  });

  test("bytes written before the end of an upgraded connection arrive, though it is closed at once", async () => {
    upgrade = (socket) => {
      socket.write(SWITCHED);
      socket.write(Buffer.alloc(MANY_BYTES));
      socket.end(() => socket.destroy());
    };
    assert.equal((await buffer(await changed())).length, MANY_BYTES);
  });

  test("an upgraded connection closes when the client ends it", async () => {
    const closed = new Promise<void>((resolve) => {
      upgrade = (socket) => {
        socket.write(SWITCHED);
        socket.resume();
        socket.on("close", () => resolve());
      };
    });
    (await changed()).end();
    await closed;
  });

  function begin(
    method: string,
    path: string,
    headers: Record<string, string> = {},
    { port } = server,
  ): ClientRequest {
    const there = { host: "127.0.0.1", port, rejectUnauthorized: false, agent: false };
    return send({ ...there, method, path, headers });
  }

  async function ask(
    method: string,
    path: string,
    headers: Record<string, string>,
    body: string | Buffer,
  ): Promise<{ answer: IncomingMessage; text: string }> {
    const asking = begin(method, path, headers);
    asking.end(body);
    return await answerOf(asking);
  }

  function changed(): Promise<Duplex> {
    const asking = begin("GET", "/", { connection: "Upgrade", upgrade: "x" });
    asking.end();
    return new Promise((resolve, reject) => {
      asking.on("error", reject);
      asking.on("upgrade", (_answer, socket, head) => {
        socket.unshift(head);
        resolve(socket);
      });
    });
  }
});

const SWITCHED = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n";

function responseTo(asking: ClientRequest): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    asking.on("error", reject);
    asking.on("response", resolve);
  });
}

async function answerOf(asking: ClientRequest): Promise<{ answer: IncomingMessage; text: string }> {
  const answer = await responseTo(asking);
  return { answer, text: (await buffer(answer)).toString() };
}
