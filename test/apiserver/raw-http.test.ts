/** The corners of HTTP that proper clients never show, spoken by hand over TLS. */
import assert from "node:assert/strict";
import { connect as connectHttp2, type IncomingHttpHeaders } from "node:http2";
import { connect as connectTcp } from "node:net";
import { afterAll, beforeAll, describe, test } from "vitest";
import { CONFIG_MAPS, configMap, identityOf, MEGABYTE, post, Raw } from "./raw-connection.ts";
import { startTestServer, type TestServer } from "./test-server.ts";

const tooLate =
  /^HTTP\/1\.1 504 Gateway Timeout[\s\S]*\{"metadata":\{\},"status":"Failure","message":"Timeout: request did not complete within the allotted timeout","reason":"Timeout","details":\{\},"code":504\}\n$/;

describe("an HTTP request that takes too long", () => {
  let server: TestServer;
  const open = (): Promise<Raw> => Raw.open(server.port, server.kubeconfig);

  beforeAll(async () => {
    server = await startTestServer({ flags: ["--request-timeout", "150ms"] });
  });

  afterAll(async () => {
    await server[Symbol.asyncDispose]();
  });

  test("a body that does not arrive gets 504, and the connection is closed", async () => {
    using raw = await open();
    raw.send(post("{", ["Content-Length: 100"]));
    await raw.until(tooLate);
    await raw.ended;
  });

  test("over HTTP/2 has its stream answered", async () => {
    const session = connectHttp2(`https://127.0.0.1:${server.port}`, identityOf(server.kubeconfig));
    const stream = session.request({ ":method": "POST", ":path": CONFIG_MAPS });
    const code = await new Promise<unknown>((resolve) =>
      stream.once("response", (headers: IncomingHttpHeaders) => resolve(headers[":status"])),
    );
    stream.on("error", () => undefined);
    session.destroy();
    assert.equal(code, 504);
  });

  test("is no watch, even if it says how long it has", async () => {
    using raw = await open();
    const query = "watch=true&timeout=1us&timeoutSeconds=1";
    raw.send(`GET /api/v1/namespaces?${query} HTTP/1.1\r\nHost: x\r\n\r\n`);
    assert.match(await raw.until(/"type":"ADDED"[\s\S]*\r\n0\r\n\r\n$/), /^HTTP\/1\.1 200 OK/);
  });
});

describe("HTTP/1.1: a connection", () => {
  let server: TestServer;
  const open = (): Promise<Raw> => Raw.open(server.port, server.kubeconfig);

  beforeAll(async () => {
    server = await startTestServer();
  });

  afterAll(async () => {
    await server[Symbol.asyncDispose]();
  });

  test("goes on after a request that took too long for the client", async () => {
    using raw = await open();
    raw.send("GET /api/v1/namespaces?timeout=1us HTTP/1.1\r\nHost: x\r\n\r\n");
    await raw.until(tooLate);
    raw.send("GET /healthz?timeout=1h HTTP/1.1\r\nHost: x\r\n\r\n");
    await raw.until(/\r\n\r\nok$/);
  });

  test("without credentials gets 403 before it has sent the body, and is closed", async () => {
    using raw = await Raw.openAnonymous(server.port, server.kubeconfig);
    raw.send(post("{", [`Content-Length: ${2 * MEGABYTE}`]));
    await raw.until(/^HTTP\/1\.1 403 Forbidden/);
    await raw.ended;
  });

  test("without credentials gets no 100 Continue", async () => {
    using raw = await Raw.openAnonymous(server.port, server.kubeconfig);
    raw.send(post("", ["Content-Length: 100", "Expect: 100-continue"]));
    await raw.until(/^HTTP\/1\.1 403 Forbidden/);
  });

  test("over HTTP/2 without credentials gets 403 and its stream is reset", async () => {
    const { ca } = identityOf(server.kubeconfig);
    const session = connectHttp2(`https://127.0.0.1:${server.port}`, { ca });
    const stream = session.request({ ":method": "POST", ":path": CONFIG_MAPS });
    stream.write(Buffer.alloc(MEGABYTE / 2));
    stream.resume();
    const code = await new Promise<unknown>((resolve) =>
      stream.once("response", (headers: IncomingHttpHeaders) => resolve(headers[":status"])),
    );
    assert.equal(code, 403);
    await new Promise((resolve) => stream.once("close", resolve));
    session.destroy();
  });

  test("with more than 2,000 headers gets 431", async () => {
    const request = (count: number): string =>
      `GET /healthz HTTP/1.1\r\nHost: x\r\n${"A: b\r\n".repeat(count - 1)}\r\n`;
    using many = await open();
    many.send(request(2_000));
    await many.until(/^HTTP\/1\.1 200 OK/);
    for (const count of [2_001, 100_000]) {
      using tooMany = await open();
      tooMany.send(request(count));
      await tooMany.until(/^HTTP\/1\.1 431 Request Header Fields Too Large/);
      await tooMany.ended;
    }
  });

  test("with a URL of more than 128 KiB gets 414", async () => {
    using long = await open();
    long.send(`GET /healthz?${"a".repeat(900_000)} HTTP/1.1\r\nHost: x\r\n\r\n`);
    await long.until(/^HTTP\/1\.1 414 URI Too Long/);
    await long.ended;
  });

  test("answers pipelined requests in their order", async () => {
    using raw = await open();
    const paths = ["/version", "/healthz", "/api", "/nothing-here", "/livez"];
    raw.send(paths.map((path) => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`).join(""));
    const text = await raw.until(/404 page not found[\s\S]*\r\n\r\nok$/);
    const codes = [...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, code]) => code);
    assert.deepEqual(codes, ["200", "200", "200", "404", "200"]);
    assert.match(text, /gitVersion[\s\S]*\r\n\r\nok[\s\S]*APIVersions/);
  });

  test("of HTTP/1.0 ends after the answer", async () => {
    using raw = await open();
    raw.send("GET /healthz HTTP/1.0\r\n\r\n");
    await raw.ended;
    assert.match(await raw.until(/ok$/), /^HTTP\/1\.1 200 OK\r\n[\s\S]*connection: close/i);
  });

  test.each([
    ["nonsense\r\n\r\n", "400 Bad Request"],
    ["\u0016\u0003\u0001\r\n\r\n", "400 Bad Request"],
    ["GET /healthz HTTP/1.1\r\n\r\n", "400 Bad Request: missing required Host header"],
    ["GET /healthz HTTP/1.1\r\nHost: a b\r\n\r\n", "400 Bad Request: malformed Host header"],
    ["GET /healthz HTTP/1.1\r\nHost: a\r\nhost: a\r\n\r\n", "400 Bad Request"],
    [
      "GET /healthz HTTP/2.0\r\nHost: x\r\n\r\n",
      "505 HTTP Version Not Supported: unsupported protocol version",
    ],
    ["GET /healthz\r\n\r\n", "400 Bad Request"],
    ["GET /api/%ff%zz HTTP/1.1\r\nHost: x\r\n\r\n", "400 Bad Request"],
  ])("whose request is none is refused, and ends: %j", async (text, fault) => {
    using raw = await open();
    raw.send(text);
    await raw.ended;
    const response = await raw.until(/^HTTP/);
    assert.equal(response.split("\r\n")[0], `HTTP/1.1 ${fault}`);
    assert.equal(response.split("\r\n\r\n")[1], fault);
  });

  test("gets no Keep-Alive header, and 417 for an unknown Expect", async () => {
    using raw = await open();
    raw.send("GET /healthz HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n\r\n");
    const text = await raw.until(/^HTTP\/1\.1 200 OK[\s\S]*ok$/);
    assert.doesNotMatch(text, /keep-alive/i);
    using other = await open();
    other.send("GET /healthz HTTP/1.1\r\nHost: x\r\nExpect: much\r\n\r\n");
    await other.ended;
    await other.until(/^HTTP\/1\.1 417 Expectation Failed\r\n[\s\S]*content-length: 0\r\n/i);
  });

  test("may have bytes in its path that are no text", async () => {
    using raw = await open();
    raw.send(`GET ${CONFIG_MAPS}/a%ffb HTTP/1.1\r\nHost: x\r\n\r\n`);
    await raw.until(/^HTTP\/1\.1 404 Not Found[\s\S]*"reason":"NotFound"/);
  });

  test("415 Unsupported Media Type is returned before the body-size limit (413)", async () => {
    using raw = await open();
    const bytes = 4 * MEGABYTE;
    const headers = `Host: x\r\nContent-Type: text/plain\r\nContent-Length: ${bytes}\r\n`;
    raw.send(`POST ${CONFIG_MAPS} HTTP/1.1\r\n${headers}\r\n${"x".repeat(bytes)}`);
    await raw.until(/^HTTP\/1\.1 415 Unsupported Media Type\r\n/);
  });

  test("is answered with the signs of pages escaped", async () => {
    using raw = await open();
    const body = JSON.stringify({ metadata: { name: "signs" }, data: { a: "<&>" } });
    raw.send(post(body, [`Content-Length: ${body.length}`]));
    await raw.until(/^HTTP\/1\.1 201 Created[\s\S]*"data":\{"a":"\\u003c\\u0026\\u003e"\}/);
    raw.send(post("", ["Content-Length: 0"]));
    await raw.until(/400 Bad Request[\s\S]*\(\\u003cempty\\u003e\)/);
  });

  test("with an unknown method gets 405", async () => {
    for (const method of ["get", "FETCH", "Delete", "REPORT"]) {
      using raw = await open();
      raw.send(`${method} ${CONFIG_MAPS} HTTP/1.1\r\nHost: x\r\n\r\n`);
      await raw.until(/^HTTP\/1\.1 405 Method Not Allowed\r\n[\s\S]*"reason":"MethodNotAllowed"/);
    }
  });

  test("takes a body in chunks", async () => {
    using raw = await open();
    const body = configMap("chunked");
    const chunks = [body.slice(0, 5), body.slice(5)].map(
      (chunk) => `${chunk.length.toString(16)}\r\n${chunk}\r\n`,
    );
    raw.send(post(`${chunks.join("")}0\r\n\r\n`, ["Transfer-Encoding: chunked"]));
    await raw.until(/^HTTP\/1\.1 201 Created[\s\S]*"name":"chunked"/);
  });

  test("gets 100 Continue for Expect: 100-continue", async () => {
    using raw = await open();
    const body = configMap("expected");
    raw.send(post("", [`Content-Length: ${body.length}`, "Expect: 100-continue"]));
    await raw.until(/^HTTP\/1\.1 100 Continue\r\n\r\n/);
    raw.send(body);
    await raw.until(/HTTP\/1\.1 201 Created/);
  });

  test("gets 413 for a body that is too long: by Content-Length, chunked, and far too long", async () => {
    for (const [bytes, chunked] of [
      [4 * MEGABYTE, false],
      [4 * MEGABYTE, true],
      [20 * MEGABYTE, false],
      [20 * MEGABYTE, true],
    ] as const) {
      using raw = await open();
      const body = "x".repeat(bytes);
      raw.send(
        chunked
          ? post(`${bytes.toString(16)}\r\n${body}\r\n0\r\n\r\n`, ["Transfer-Encoding: chunked"])
          : post(body, [`Content-Length: ${bytes}`]),
      );
      const text = await raw.until(/^HTTP\/1\.1 413 Request Entity Too Large[\s\S]*"code":413/);
      assert.match(text, /"reason":"RequestEntityTooLarge"/);
    }
  });

  test("with a wrong Content-Length is refused or kept waiting, and nothing is written", async () => {
    for (const length of ["-1", "abc", "1, 2", "99999999999999999999"]) {
      using raw = await open();
      raw.send(post(configMap("wrong"), [`Content-Length: ${length}`]));
      await raw.until(/^HTTP\/1\.1 4(00|13) /);
    }
    using raw = await open();
    raw.send(post(configMap("wrong"), ["Content-Length: 1", "Transfer-Encoding: chunked"]));
    await raw.until(/^HTTP\/1\.1 400 /);
    using short = await open();
    short.send(
      post(configMap("wrong").slice(0, -1), [`Content-Length: ${configMap("wrong").length}`]),
    );
    short.socket.destroy();
    using check = await open();
    check.send(`GET ${CONFIG_MAPS}/wrong HTTP/1.1\r\nHost: x\r\n\r\n`);
    await check.until(/^HTTP\/1\.1 404 /);
  });

  test("has a limit for its headers", async () => {
    using big = await open();
    big.send(`GET /healthz HTTP/1.1\r\nHost: x\r\nX-Big: ${"x".repeat(100_000)}\r\n\r\n`);
    await big.until(/^HTTP\/1\.1 200 /);
    using bigger = await open();
    bigger.send(`GET /healthz HTTP/1.1\r\nHost: x\r\nX-Big: ${"x".repeat(2 * MEGABYTE)}\r\n\r\n`);
    await bigger.until(/^HTTP\/1\.1 431 Request Header Fields Too Large\r\n/);
    await bigger.ended;
  });

  test("that half-closes its connection still gets the response", async () => {
    using raw = await open();
    raw.send("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n");
    raw.socket.end();
    await raw.until(/^HTTP\/1\.1 200 OK[\s\S]*ok$/);
    await raw.ended;
  });

  test("HEAD gets Content-Length, but no body", async () => {
    using raw = await open();
    raw.send("HEAD /healthz HTTP/1.1\r\nHost: x\r\n\r\nGET /livez HTTP/1.1\r\nHost: x\r\n\r\n");
    const text = await raw.until(/\r\n\r\nok$/);
    assert.match(text, /^HTTP\/1\.1 200 OK[\s\S]*?\r\n\r\nHTTP\/1\.1 200 OK/);
    assert.match(text, /content-length: 2\r\n[\s\S]*content-length: 2\r\n/i);
    const session = connectHttp2(`https://127.0.0.1:${server.port}`, identityOf(server.kubeconfig));
    const stream = session.request({ ":method": "HEAD", ":path": "/apis/apps" });
    const headers = await new Promise<IncomingHttpHeaders>((resolve) => {
      stream.on("response", resolve);
    });
    assert.ok(Number(headers["content-length"]) > 100);
    assert.equal(await readAll(stream), "");
    session.destroy();
  });

  test("gets the Audit-ID header, its own if it sent one", async () => {
    using raw = await open();
    raw.send("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n");
    await raw.until(/audit-id: [0-9a-f]{8}-[0-9a-f-]{27}\r\n/i);
    raw.send(`GET ${CONFIG_MAPS}/none HTTP/1.1\r\nHost: x\r\nAudit-ID: mine\r\n\r\n`);
    await raw.until(/404 Not Found\r\n[\s\S]*audit-id: mine\r\n/i);
    raw.send(post("{", ["Content-Length: 1", "audit-id: bad-body"]));
    await raw.until(/400 Bad Request\r\n[\s\S]*audit-id: bad-body\r\n/i);
  });

  test("may name the whole address, or ask about the server as a whole", async () => {
    using raw = await open();
    raw.send("GET https://elsewhere/healthz HTTP/1.1\r\nHost: x\r\n\r\n");
    await raw.until(/^HTTP\/1\.1 200 OK[\s\S]*\r\n\r\nok$/);
    raw.send("OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n");
    await raw.until(/ok(HTTP\/1\.1 200 OK)\r\n[\s\S]*content-length: 0/i);
  });

  test("with an unknown coding of its body is refused", async () => {
    using raw = await open();
    raw.send(post("", ["Transfer-Encoding: gzip, chunked"]));
    await raw.until(/^HTTP\/1\.1 501 Not Implemented\r\n[\s\S]*Unsupported transfer encoding/);
    await raw.ended;
  });

  test("whose query is badly written in part is answered by the rest", async () => {
    using raw = await open();
    raw.send(
      `GET ${CONFIG_MAPS}?limit=1;x=y&a=%zz&labelSelector=a%3Db HTTP/1.1\r\nHost: x\r\n\r\n`,
    );
    const text = await raw.until(/^HTTP\/1\.1 200 OK[\s\S]*ConfigMapList/);
    assert.doesNotMatch(text, /"continue"/);
  });

  test("may have a very long target", async () => {
    using raw = await open();
    const selector = Array.from({ length: 9_000 }, (_, i) => `value-${i}`).join(",");
    const target = `${CONFIG_MAPS}?labelSelector=${encodeURIComponent(`a in (${selector})`)}`;
    raw.send(`GET ${target} HTTP/1.1\r\nHost: x\r\n\r\n`);
    await raw.until(/^HTTP\/1\.1 200 OK[\s\S]*ConfigMapList/);
  });

  test("with Upgrade to an unknown protocol is answered without an upgrade", async () => {
    using raw = await open();
    raw.send("GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n");
    await raw.until(/^HTTP\/1\.1 200 OK[\s\S]*\r\n\r\nok$/);
  });

  test("of HTTP/1.1 watches in chunks, all of them whole, up to a proper end", async () => {
    using raw = await open();
    raw.send(`GET ${DEFAULT_ONLY}&timeoutSeconds=1 HTTP/1.1\r\nHost: x\r\n\r\n`);
    const text = await raw.until(/\r\n0\r\n\r\n$/);
    const body = text.slice(text.indexOf("\r\n\r\n") + 4);
    const [, length, rest] = /^([0-9a-f]+)\r\n([\s\S]*)$/.exec(body)!;
    const event = rest!.slice(0, Number.parseInt(length!, 16));
    assert.match(event, /^\{"type":"ADDED",[\s\S]*\}\n$/);
    assert.equal(rest!.slice(event.length), "\r\n0\r\n\r\n");
    raw.send("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"); // the connection lives on
    await raw.until(/\r\n\r\nok$/);
  });

  test("of HTTP/1.0 watches without chunks", async () => {
    using raw = await open();
    raw.send(`GET ${DEFAULT_ONLY}&timeoutSeconds=1 HTTP/1.0\r\n\r\n`);
    await raw.ended;
    const text = await raw.until(/\}\n$/);
    assert.match(text, /^HTTP\/1\.1 200 OK[\s\S]*?\r\n\r\n\{"type":"ADDED",[^\r]*\}\n$/);
  });

  test("may ask for a watch before the one before it has ended", async () => {
    using raw = await open();
    const watch = `GET ${DEFAULT_ONLY}&timeoutSeconds=1 HTTP/1.1\r\nHost: x\r\n\r\n`;
    raw.send(watch + watch);
    const text = await raw.until(/\r\n0\r\n\r\n[\s\S]*\r\n0\r\n\r\n$/);
    assert.match(text, /^HTTP\/1\.1 200 [\s\S]*"ADDED"[\s\S]*\r\n0\r\n\r\nHTTP[\s\S]*"ADDED"/);
  });

  test("may watch over a WebSocket, one message for each event", async () => {
    using raw = await open();
    raw.send(
      `GET ${DEFAULT_ONLY} HTTP/1.1\r\nHost: x\r\n` +
        "Origin: https://x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n" +
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
    );
    const text = await raw.until(/"type":"ADDED"[\s\S]*"Active"[\s\S]*\}\n$/);
    assert.match(text, /^HTTP\/1\.1 101 Switching Protocols\r\n/);
    assert.match(text, /Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK\+xOo=\r\n/);
    assert.equal(text.split("\r\n\r\n")[1]!.charCodeAt(0), 0x81); // a whole message of text
    raw.send("\x88\x80\0\0\0\0"); // the client says goodbye
    await raw.ended;
  });

  test("that agreed on HTTP/2 speaks it from the first byte", async () => {
    const session = connectHttp2(`https://127.0.0.1:${server.port}`, identityOf(server.kubeconfig));
    const streams = ["/healthz", "/version", "/nothing"].map((path) =>
      session.request({ ":path": path }),
    );
    const texts = await Promise.all(streams.map(readAll));
    assert.equal(texts[0], "ok");
    assert.match(texts[1]!, /gitVersion/);
    assert.equal(texts[2], "404 page not found\n");
    session.destroy();
  });

  test("that is not TLS is ended", async () => {
    const socket = connectTcp(server.port, "127.0.0.1");
    socket.on("error", () => undefined);
    socket.resume();
    socket.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    await new Promise((resolve) => socket.on("close", resolve));
  });
});

const DEFAULT_ONLY = "/api/v1/namespaces?watch=1&fieldSelector=metadata.name%3Ddefault";

async function readAll(stream: AsyncIterable<Buffer>): Promise<string> {
  let text = "";
  for await (const chunk of stream) text += chunk;
  return text;
}
