/** The client against Node's own HTTP/2 server, with and without TLS, and on a Unix socket. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import {
  createSecureServer,
  createServer,
  type Http2SecureServer,
  type Http2Server,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from "node:http2";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "vitest";
import { deferred } from "#lib/async/deferred.ts";
import { systemClock } from "#lib/time/system-clock.ts";
import { issueLeaf, openAuthority } from "#pki/authority.ts";
import type { Http2Stream } from "./client-stream.ts";
import { type Address, connectHttp2, type TlsOptions } from "./connect-http2.ts";
import { encodeHeaders } from "./hpack-encode.ts";
import type { HeaderField } from "./hpack-static-table.ts";
import { CONNECTION_WINDOW, type Http2Connection, STREAM_WINDOW } from "./http2-connection.ts";
import type { Http2Error } from "./http2-error.ts";

type OnStream = (stream: ServerHttp2Stream, path: string) => void;

interface Server extends AsyncDisposable {
  readonly address: Address;
  readonly server: Http2Server | Http2SecureServer;
  /** The last connection. */
  session(): ServerHttp2Session;
}

async function serve(
  onStream: OnStream,
  server: Http2Server | Http2SecureServer = createServer(),
  path?: string,
): Promise<Server> {
  const sessions: ServerHttp2Session[] = [];
  server.on("session", (session) => sessions.push(session));
  server.on("stream", (stream, headers) => {
    stream.on("error", () => undefined);
    onStream(stream, String(headers[":path"]));
  });
  server.listen(path === undefined ? { port: 0, host: "127.0.0.1" } : { path });
  await once(server, "listening");
  const address =
    path === undefined
      ? { host: "127.0.0.1", port: (server.address() as AddressInfo).port }
      : { path };
  return {
    address,
    server,
    session: () => sessions.at(-1)!,
    async [Symbol.asyncDispose]() {
      for (const session of sessions) session.destroy();
      server.close();
    },
  };
}

async function connect(
  { address }: Pick<Server, "address">,
  options: { tls?: TlsOptions; keepAlive?: { idleMs: number; answerMs: number } } = {},
): Promise<Http2Connection & Disposable> {
  const connection = await connectHttp2({
    address,
    clock: systemClock,
    connectTimeoutMs: 60_000,
    signal: new AbortController().signal,
    onEnd: () => undefined,
    ...options,
  });
  return Object.assign(connection, { [Symbol.dispose]: () => connection.close() });
}

interface Answer {
  readonly fields: HeaderField[];
  readonly body: string;
  readonly error: Http2Error | undefined;
}

interface Request {
  readonly stream: Http2Stream;
  readonly answer: Promise<Answer>;
  readonly firstData: Promise<void>;
  receivedBytes(): number;
}

function request(connection: Http2Connection, path: string): Request {
  const answer = deferred<Answer>();
  const firstData = deferred<void>();
  const fields: HeaderField[] = [];
  const parts: Buffer[] = [];
  let receivedBytes = 0;
  const block = encodeHeaders([
    [":method", "POST"],
    [":scheme", "http"],
    [":path", path],
    [":authority", "localhost"],
  ]);
  const stream = connection.open(block, {
    onHeaders: (more) => fields.push(...more),
    onData: (bytes) => {
      parts.push(bytes);
      receivedBytes += bytes.length;
      firstData.resolve();
    },
    onClose: (error) => answer.resolve({ fields, body: Buffer.concat(parts).toString(), error }),
  });
  return {
    stream,
    answer: answer.promise,
    firstData: firstData.promise,
    receivedBytes: () => receivedBytes,
  };
}

async function ask(connection: Http2Connection, path: string, body = ""): Promise<Answer> {
  const { stream, answer } = request(connection, path);
  stream.write(Buffer.from(body), true);
  return await answer;
}

/** Answers what it was sent, and trailers that are Huffman-coded. */
function echo(stream: ServerHttp2Stream, path: string): void {
  stream.respond({ ":status": 200, path }, { waitForTrailers: true });
  stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0", "x-path": path }));
  stream.pipe(stream);
}

test("HTTP/2: a request gets headers, data and trailers of its own stream", async () => {
  await using server = await serve(echo);
  using connection = await connect(server);
  const answers = await Promise.all(
    Array.from({ length: 200 }, (_, at) => ask(connection, `/call/${at}`, `body ${at}`)),
  );
  for (const [at, { fields, body, error }] of answers.entries()) {
    assert.equal(error, undefined);
    assert.equal(body, `body ${at}`);
    assert.ok(fields.some(([name, value]) => name === "x-path" && value === `/call/${at}`));
  }
});

test("HTTP/2: bodies larger than every window pass both ways, on streams at once", async () => {
  await using server = await serve(echo);
  using connection = await connect(server);
  const body = "x".repeat(CONNECTION_WINDOW / 4 + 12_345);
  const answers = await Promise.all([1, 2, 3, 4, 5].map((at) => ask(connection, `/${at}`, body)));
  for (const answer of answers) assert.ok(answer.body === body);
});

test("HTTP/2: a paused stream gets one window, others go on, and it goes on after resume", async () => {
  const total = 5 * STREAM_WINDOW;
  await using server = await serve((stream, path) => {
    if (path === "/small") return echo(stream, path);
    stream.respond({ ":status": 200 });
    stream.end(Buffer.alloc(total));
  });
  using connection = await connect(server);
  const paused = request(connection, "/large");
  paused.stream.pause();
  paused.stream.write(Buffer.alloc(0), true);
  await paused.firstData;
  // Each exchange is a turn in which the server could send more than it may.
  for (let turn = 0; turn < 20; turn++) await ask(connection, "/small", "x".repeat(100_000));
  assert.ok(paused.receivedBytes() <= STREAM_WINDOW);
  paused.stream.resume();
  await paused.answer;
  assert.equal(paused.receivedBytes(), total);
});

test("HTTP/2: SETTINGS that change the windows, the frame size and the table are followed", async () => {
  await using server = await serve(echo, createServer({ settings: { initialWindowSize: 10 } }));
  using connection = await connect(server);
  const body = "y".repeat(200_000);
  const first = request(connection, "/first");
  first.stream.write(Buffer.from(body), true);
  server.session().settings({
    initialWindowSize: 70_000,
    maxFrameSize: 30_000,
    headerTableSize: 0,
    maxConcurrentStreams: 5,
  });
  assert.ok((await first.answer).body === body);
  const { fields, body: second } = await ask(connection, "/second", body);
  assert.ok(second === body);
  assert.ok(fields.some(([name, value]) => name === "x-path" && value === "/second"));
});

test("HTTP/2: streams above MAX_CONCURRENT_STREAMS wait for their turn", async () => {
  let open = 0;
  let openMax = 0;
  const settings = { maxConcurrentStreams: 3 };
  await using server = await serve((stream, path) => {
    open += 1;
    openMax = Math.max(openMax, open);
    stream.once("close", () => {
      open -= 1;
    });
    echo(stream, path);
  }, createServer({ settings }));
  using connection = await connect(server);
  const answers = await Promise.all(
    Array.from({ length: 50 }, (_, at) => ask(connection, `/${at}`, "z")),
  );
  assert.ok(answers.every(({ error, body }) => error === undefined && body === "z"));
  assert.ok(openMax <= 3, `${openMax} at once`);
});

test("HTTP/2: GOAWAY lets streams finish, refuses later ones as notProcessed", async () => {
  const held = deferred<ServerHttp2Stream>();
  await using server = await serve((stream) => held.resolve(stream));
  using connection = await connect(server);
  const kept = request(connection, "/kept");
  kept.stream.write(Buffer.from("a"), true);
  const stream = await held.promise;
  const refused = request(connection, "/refused");
  server.session().goaway(0, stream.id ?? 0);
  const { error } = await refused.answer;
  assert.equal(error?.notProcessed, true);
  assert.equal(connection.isOpen, false);
  assert.throws(() => request(connection, "/late"), { notProcessed: true });
  stream.respond({ ":status": 200 });
  stream.end("done");
  assert.equal((await kept.answer).body, "done");
});

test("HTTP/2: RST_STREAM ends one stream with its code, the connection goes on", async () => {
  await using server = await serve((stream, path) => {
    if (path === "/refuse") stream.close(7);
    else echo(stream, path);
  });
  using connection = await connect(server);
  const { error } = await ask(connection, "/refuse");
  assert.deepEqual([error?.code, error?.notProcessed], ["REFUSED_STREAM", true]);
  assert.equal((await ask(connection, "/on", "b")).body, "b");
});

test("HTTP/2: a cancelled stream is reset at the server and is silent", async () => {
  const reset = deferred<number>();
  await using server = await serve((stream, path) => {
    if (path !== "/endless") return echo(stream, path);
    stream.once("close", () => reset.resolve(stream.rstCode));
    stream.respond({ ":status": 200 });
    stream.write("first");
  });
  using connection = await connect(server);
  const { stream, firstData } = request(connection, "/endless");
  await firstData;
  stream.cancel();
  assert.equal(await reset.promise, 8);
  assert.equal((await ask(connection, "/on", "c")).body, "c");
});

test("HTTP/2: PING of the server is answered; a lost connection ends every stream", async () => {
  await using server = await serve(() => undefined);
  using connection = await connect(server);
  const { answer } = request(connection, "/never");
  const pinged = deferred<void>();
  server.session().ping(Buffer.alloc(8, 7), (_, __, payload) => {
    assert.deepEqual(Buffer.from(payload), Buffer.alloc(8, 7));
    pinged.resolve();
  });
  await pinged.promise;
  server.session().destroy();
  assert.equal((await answer).error?.code, "CONNECT_ERROR");
  assert.equal(connection.isOpen, false);
});

test("HTTP/2: keep-alive pings are answered by a server that lives", async () => {
  await using server = await serve(echo);
  using connection = await connect(server, { keepAlive: { idleMs: 5, answerMs: 60_000 } });
  const silent = request(connection, "/silent");
  const pinged = once(server.session(), "ping");
  await pinged;
  silent.stream.write(Buffer.from("d"), true);
  assert.equal((await silent.answer).body, "d");
});

test("HTTP/2 over a Unix socket, and over TLS with ALPN and a client certificate", async () => {
  const directory = mkdtempSync(join(tmpdir(), "k8ts-http2-"));
  try {
    const path = join(directory, "socket");
    await using plain = await serve(echo, createServer(), path);
    using connection = await connect(plain);
    assert.equal((await ask(connection, "/unix", "e")).body, "e");

    const nowMs = systemClock.nowMs();
    const ca = openAuthority(join(directory, "ca"), "ca", nowMs);
    const subject = { commonName: "server" };
    const { certificatePem, keyPem } = issueLeaf(
      ca,
      { subject, purpose: "server auth", altNames: ["127.0.0.1"] },
      nowMs,
    );
    const secure = createSecureServer({ cert: certificatePem, key: keyPem });
    await using server = await serve(echo, secure);
    using overTls = await connect(server, { tls: { ca: Buffer.from(ca.certificatePem) } });
    assert.equal((await ask(overTls, "/tls", "f")).body, "f");
    await assert.rejects(connect(server, { tls: {} }), /self.signed|unable to verify|issuer/i);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
});

test("HTTP/2: a server that refuses connections is an error that says so", async () => {
  const server = await serve(echo);
  await server[Symbol.asyncDispose]();
  await assert.rejects(connect(server), { code: "CONNECT_ERROR", notProcessed: true });
});

test("HTTP/2: the two parts of one write go out in one DATA frame", async () => {
  const chunks: string[] = [];
  await using server = await serve((stream) => {
    stream.on("data", (chunk: Buffer) => chunks.push(chunk.toString()));
    stream.on("end", () => stream.respond({ ":status": 200 }, { endStream: true }));
  });
  using connection = await connect(server);
  const { stream, answer } = request(connection, "/");
  stream.write(Buffer.from("head"), true, Buffer.from("body"));
  assert.equal((await answer).error, undefined);
  assert.deepEqual(chunks, ["headbody"]);
});
