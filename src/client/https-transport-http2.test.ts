/** The transport's HTTP/2 requests against Node's own servers. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import {
  createSecureServer,
  type Http2SecureServer,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from "node:http2";
import { createServer as createHttps } from "node:https";
import type { AddressInfo, Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, test } from "vitest";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { systemClock } from "#lib/time/system-clock.ts";
import { VirtualClock } from "#lib/time/virtual-clock.ts";
import { issueLeaf, openAuthority } from "#pki/authority.ts";
import { HttpsTransport } from "./https-transport.ts";
import { TransportError } from "./transport.ts";

const CALL = { verb: "create", kind: podKind, namespace: "default", body: { a: 1 } } as const;

const directory = mkdtempSync(join(tmpdir(), "k8ts-http2-"));
afterAll(() => rmSync(directory, { recursive: true, force: true }));
const authority = openAuthority(join(directory, "ca"), "ca", systemClock.nowMs());
const { certificatePem: cert, keyPem: key } = issueLeaf(
  authority,
  { subject: { commonName: "server" }, purpose: "server auth", altNames: ["127.0.0.1"] },
  systemClock.nowMs(),
);

async function listen(server: Server): Promise<string> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function transportTo(server: string): HttpsTransport {
  const connection = { server, ca: authority.certificatePem, token: () => "secret" };
  return new HttpsTransport(connection, "test", undefined, { http2: { clock: systemClock } });
}

type OnStream = (stream: ServerHttp2Stream, headers: IncomingHttpHeaders, body: string) => void;

function http2Server(onStream: OnStream): Http2SecureServer & { sessions: ServerHttp2Session[] } {
  const sessions: ServerHttp2Session[] = [];
  const server = createSecureServer({ cert, key });
  server.on("session", (session) => sessions.push(session));
  server.on("stream", (stream, headers) => {
    let body = "";
    stream.on("error", () => undefined);
    stream.on("data", (chunk) => {
      body += chunk;
    });
    stream.on("end", () => onStream(stream, headers, body));
  });
  return Object.assign(server, { sessions });
}

function answer(stream: ServerHttp2Stream, code: number, body: unknown): void {
  stream.respond({ ":status": code });
  stream.end(JSON.stringify(body));
}

test("HTTP/2 transport: method, path, token and body arrive, and requests share a connection", async () => {
  const seen: unknown[] = [];
  const server = http2Server((stream, headers, body) => {
    seen.push([headers[":method"], headers[":path"], headers.authorization, body]);
    answer(stream, 201, { kind: "Pod" });
  });
  using transport = transportTo(await listen(server));
  const results = await Promise.all([transport.send(CALL), transport.send(CALL)]);
  assert.deepEqual(results, [
    { ok: true, value: { kind: "Pod" } },
    { ok: true, value: { kind: "Pod" } },
  ]);
  const request = ["POST", "/api/v1/namespaces/default/pods", "Bearer secret", '{"a":1}'];
  assert.deepEqual(seen, [request, request]);
  assert.equal(server.sessions.length, 1);
  server.close();
});

test("HTTP/2 transport: of answers to writes only the metadata, or nothing, is parsed if no more is wanted", async () => {
  const metadata = { name: "a", uid: "u", resourceVersion: "1" };
  const server = http2Server((stream) =>
    answer(stream, 201, { metadata: { ...metadata, managedFields: [] }, spec: {} }),
  );
  using transport = transportTo(await listen(server));
  const sent = [
    transport.send({ ...CALL, answer: "metadata" }),
    transport.send({ ...CALL, answer: "nothing" }),
  ];
  assert.deepEqual(await Promise.all(sent), [
    { ok: true, value: { metadata } },
    { ok: true, value: undefined },
  ]);
  server.close();
});

test("HTTP/2 transport: a refusal is the server's Status", async () => {
  const server = http2Server((stream) =>
    answer(stream, 409, { kind: "Status", code: 409, reason: "Conflict", message: "no" }),
  );
  using transport = transportTo(await listen(server));
  for (const wanted of [undefined, "metadata", "nothing"] as const) {
    const result = await transport.send({ ...CALL, answer: wanted });
    assert.equal(!result.ok && result.status.reason, "Conflict");
  }
  server.close();
});

test("HTTP/2 transport: a connection that breaks fails the request, and the next one connects anew", async () => {
  let count = 0;
  const server = http2Server((stream) => {
    count += 1;
    if (count === 1) stream.session?.destroy();
    else answer(stream, 200, { count });
  });
  using transport = transportTo(await listen(server));
  await assert.rejects(transport.send(CALL), TransportError);
  assert.deepEqual(await transport.send(CALL), { ok: true, value: { count: 2 } });
  assert.equal(server.sessions.length, 2);
  server.close();
});

test("HTTP/2 transport: an aborted request rejects with the signal's reason", async () => {
  const life = new AbortController();
  const server = http2Server(() => life.abort(new Error("over")));
  using transport = transportTo(await listen(server));
  await assert.rejects(transport.send(CALL, life.signal), { message: "over" });
  server.close();
});

test("HTTP/2 transport: a server without HTTP/2 is asked over HTTP/1.1", async () => {
  const server = createHttps({ cert, key }, (request, response) => {
    response.end(JSON.stringify({ version: request.httpVersion }));
  });
  using transport = transportTo(await listen(server));
  const wanted = { ok: true, value: { version: "1.1" } };
  assert.deepEqual(await transport.send(CALL), wanted);
  assert.deepEqual(await transport.send(CALL), wanted);
  server.close();
});

test("HTTP/2 transport: a server that cannot be reached is a TransportError", async () => {
  const server = http2Server(() => undefined);
  const url = await listen(server);
  await new Promise((resolve) => server.close(resolve));
  using transport = transportTo(url);
  await assert.rejects(transport.send(CALL), TransportError);
});

for (const { name, silentMs, isReset } of [
  { name: "in time keeps its connection", silentMs: 999, isReset: false },
  { name: "after a second of silence resets its connection", silentMs: 1_000, isReset: true },
]) {
  test(`HTTP/2 transport: a write that is aborted ${name}`, async () => {
    const clock = new VirtualClock("2030-01-01T00:00:00Z");
    const server = http2Server(() => undefined);
    const errors: string[] = [];
    server.on("sessionError", (error: NodeJS.ErrnoException) => errors.push(String(error.code)));
    const connection = { server: await listen(server), ca: authority.certificatePem };
    using transport = new HttpsTransport(connection, "test", undefined, { http2: { clock } });
    const life = new AbortController();
    const arrived = once(server, "stream");
    const sent = transport.send(CALL, life.signal);
    const [stream] = (await arrived) as [ServerHttp2Stream];
    await clock.advance(silentMs);
    life.abort(new Error("the lease was lost"));
    await assert.rejects(sent, /the lease was lost/);
    await new Promise((resolve) => stream.once("close", resolve));
    assert.deepEqual(errors, isReset ? ["ECONNRESET"] : []);
    for (const session of server.sessions) session.destroy();
    server.close();
  });
}
