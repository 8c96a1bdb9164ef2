/** Proxies of pods and services to a real HTTP server, on an address that is not loopback. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server } from "node:http";
import { createServer as createHttpsServer } from "node:https";
import type { AddressInfo } from "node:net";
import { networkInterfaces } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, test } from "vitest";
import { endpointsKind } from "#api/kinds/core/v1/endpoints.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { serviceKind } from "#api/kinds/core/v1/service/service.ts";
import { serviceAccountKind } from "#api/kinds/core/v1/service-account.ts";
import { issueLeaf, openAuthority } from "#pki/authority.ts";
import { askHttps } from "./https-ask.ts";
import { startTestServer, type TestServer } from "./test-server.ts";

const address = Object.values(networkInterfaces())
  .flatMap((all) => all ?? [])
  .find(({ family, internal }) => family === "IPv4" && !internal)?.address;

const NS = "/api/v1/namespaces/default";
let server: TestServer;
let web: Server;
let port: number;
let last: IncomingMessage & { body?: string };

beforeAll(async () => {
  if (address === undefined) return;
  server = await startTestServer({ tokens: "admin,admin,1,system:masters" });
  web = createServer((request, response) => {
    last = request;
    last.body = "";
    request.on("data", (chunk) => {
      last.body += chunk;
    });
    request.on("end", () => {
      if (request.url?.startsWith("/moved")) {
        response.writeHead(302, { location: "/there/?a=b" }).end();
      } else if (request.url?.startsWith("/page")) {
        const headers = { "content-type": "text/html", "access-control-allow-origin": "*" };
        response.writeHead(200, headers).end('<a href="/x">x</a>');
      } else response.writeHead(200, { "content-type": "text/plain", "x-own": "1" }).end("plain");
    });
  });
  web.on("upgrade", (request, socket) => {
    last = request;
    socket.write("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\nhi");
    socket.end();
  });
  web.listen(0, address);
  await once(web, "listening");
  port = (web.address() as AddressInfo).port;
  await addObjects();
});

async function addObjects(): Promise<void> {
  const { client } = server;
  const meta = (name: string) => ({ metadata: { name, namespace: "default" } });
  const spec = { containers: [{ name: "c", image: "x", ports: [{ containerPort: port }] }] };
  await client.create(serviceAccountKind, meta("default"));
  const created = await client.create(podKind, { ...meta("web"), spec } as never);
  assert.ok(created.ok, JSON.stringify(created));
  const status = { podIP: address, podIPs: [{ ip: address }] };
  const key = { namespace: "default", name: "web" };
  await client.patch(podKind, key, "merge", { status }, { subresource: "status" });
  for (const name of ["s", "bare", "empty"]) {
    const ports = [{ name: "main", port: 80, targetPort: port }];
    const service = { ...meta(name), spec: { ports, selector: { app: "x" } } };
    assert.ok((await client.create(serviceKind, service as never)).ok);
  }
  const targetRef = { kind: "Pod", namespace: "default", name: "web" };
  const ports = [{ name: "main", port }];
  await client.create(endpointsKind, {
    ...meta("s"),
    subsets: [{ addresses: [{ ip: address, targetRef }], ports }],
  } as never);
  await client.create(endpointsKind, meta("empty") as never);
}

afterAll(async () => {
  if (address === undefined) return;
  await server[Symbol.asyncDispose]();
  web.closeAllConnections();
  web.close();
});

const ask = (path: string, more: object = {}) =>
  askHttps(server, { path: NS + path, token: "admin", ...more });

describe.skipIf(address === undefined)("API server proxy: proxies", () => {
  test("what is sent on, and what is not", async () => {
    const headers = {
      "x-mine": "1",
      "impersonate-user": "boss",
      "impersonate-group": "system:masters",
      "x-forwarded-for": "9.9.9.9",
    };
    const body = { a: 1 };
    const answer = await ask("/pods/web/proxy/a//b/../c?x=1&y=%2F", {
      method: "POST",
      headers,
      body,
    });
    assert.deepEqual([answer.code, answer.text, answer.headers["x-own"]], [200, "plain", "1"]);
    const got = last.headers;
    assert.equal(`${last.method} ${last.url}`, "POST /a/c?x=1&y=%2F");
    assert.equal(last.body, '{"a":1}');
    assert.deepEqual(
      [got.authorization, got["impersonate-user"], got["x-mine"], got["x-forwarded-for"]],
      [undefined, undefined, "1", "9.9.9.9, 127.0.0.1"],
    );
    assert.equal(got["x-forwarded-uri"], `${NS}/pods/web/proxy/a/c`);
    assert.equal(got.host, `127.0.0.1:${server.port}`);
  });

  test.each([
    ["request", "/pods/web/proxy/a", {}],
    ["upgrade", "/services/s:main/proxy/up", { connection: "Upgrade", upgrade: "x" }],
  ])("X-Remote-* headers of a client are stripped from a proxied %s", async (_, path, more) => {
    const headers = {
      ...more,
      "X-Remote-User": "boss",
      "x-remote-uid": "1",
      "x-remote-group": "system:masters",
      "x-remote-extra-scopes": "all",
      "x-remote-control": "kept",
    };
    await ask(path, { headers });
    const got = Object.keys(last.headers).filter((name) => /^x-remote/.test(name));
    assert.deepEqual(got, ["x-remote-control"]);
  });

  test("every method passes, a patch of no known type too", async () => {
    for (const method of ["DELETE", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"]) {
      for (const at of ["/pods/web/proxy/m", "/services/s:main/proxy/m"]) {
        assert.deepEqual([method, at, (await ask(at, { method })).code], [method, at, 200]);
        assert.equal(last.method, method);
      }
    }
  });

  test("links and redirects lead through the proxy", async () => {
    const page = await ask("/services/s:main/proxy/page");
    assert.equal(page.text, `<a href="${NS}/services/s:main/proxy/x">x</a>`);
    assert.equal(page.headers["access-control-allow-origin"], undefined);
    const moved = await ask("/services/http:s:80/proxy/moved");
    assert.deepEqual(
      [moved.code, moved.headers.location],
      [302, `${NS}/services/http:s:80/proxy/there/?a=b`],
    );
  });

  test("no slash: who reads is sent to one, who writes is served", async () => {
    const at = "/services/s:main/proxy";
    const { code, headers } = await ask(`${at}?a=b`);
    assert.deepEqual([code, headers.location], [301, `${NS}${at}/?a=b`]);
    assert.equal((await ask(at, { method: "POST" })).code, 200);
    assert.equal(last.url, "/");
  });

  test("HTTPS, without verifying the serving certificate", async () => {
    const { certificatePem: cert, keyPem: key } = issueLeaf(
      openAuthority(join(server.directory, "web-ca"), "web-ca", Date.now()),
      { subject: { commonName: "web" }, purpose: "server auth", altNames: ["web"] },
      Date.now(),
    );
    const secure = createHttpsServer({ cert, key }, (_, response) => response.end("secret"));
    secure.listen(0, address);
    await once(secure, "listening");
    const { port: at } = secure.address() as AddressInfo;
    const { code, text } = await ask(`/pods/https:web:${at}/proxy/`);
    secure.closeAllConnections();
    secure.close();
    assert.deepEqual([code, text], [200, "secret"]);
  });

  test("changes of protocol", async () => {
    const headers = { connection: "Upgrade", upgrade: "x" };
    const { code, text } = await ask("/pods/web/proxy/up?q=1", { headers });
    assert.deepEqual([code, text], [101, "hi"]);
    assert.equal(`${last.method} ${last.url} ${last.headers.upgrade}`, "GET /up?q=1 x");
  });

  const refusals = [
    {
      path: "/services/empty/proxy/",
      text: 'no endpoints available for service "empty"',
      code: 503,
    },
    { path: "/services/s:zz/proxy/", text: 'no endpoints available for service "s:zz"', code: 503 },
    { path: "/services/s:81/proxy/", text: 'no service port 81 found for service "s"', code: 503 },
    { path: "/services/ftp:s:1/proxy/", text: 'invalid service request "ftp:s:1"', code: 400 },
    { path: "/services/bare:main/proxy/", text: 'services "bare" not found', code: 404 },
    { path: "/pods/a:b:c:d/proxy/", text: 'invalid pod request "a:b:c:d"', code: 400 },
    {
      path: "/pods/web:1/proxy/",
      text: `error trying to reach service: dial tcp ${address}:1: connect: connection refused`,
      code: 503,
    },
  ];
  for (const { path, text, code } of refusals) {
    test(`${path}: ${text}`, async () => {
      const answer = await ask(path);
      assert.deepEqual([answer.code, answer.json?.message], [code, text]);
    });
  }
});
