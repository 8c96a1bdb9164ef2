import assert from "node:assert/strict";
import { afterAll, beforeAll, test } from "vitest";
import { serviceKind } from "#api/kinds/core/v1/service/service.ts";
import { endpointSliceKind } from "#api/kinds/discovery/v1/endpoint-slice.ts";
import { seededRandom } from "#lib/random.ts";
import { systemClock } from "#lib/time/system-clock.ts";
import { completed } from "#testing/build.ts";
import { MemoryObjects } from "#testing/memory-objects.ts";
import { HttpsCaller } from "./https-caller.ts";
import { startHttpsServer, type TestHttpsServer } from "./https-server.testing.ts";
import { ServiceResolver } from "./service-resolver.ts";
import { WebhookClient } from "./webhook-client.ts";

const life = new AbortController();
const objects = new MemoryObjects();
const caller = new HttpsCaller(systemClock);
const services = new ServiceResolver(objects, seededRandom(1), life.signal);
const client = new WebhookClient(caller, services);
let hook: TestHttpsServer;
let port = 0;
let caBundle = "";

beforeAll(async () => {
  hook = await startHttpsServer(["hook.n.svc"], (request, response) => {
    const { pathname } = new URL(request.url ?? "", "https://hook");
    if (pathname === "/silent") return;
    if (pathname === "/refuses") {
      response.writeHead(500, { "content-type": "text/plain" }).end("no\n");
      return;
    }
    if (pathname === "/garbage") {
      response.writeHead(200, { "content-type": "application/json" }).end("<html>");
      return;
    }
    request.pipe(response.writeHead(200, { "content-type": "application/json" }));
  });
  ({ port, caBundle } = hook);
  objects.put(
    serviceKind,
    completed(serviceKind, {
      metadata: { name: "hook", namespace: "n" },
      spec: { type: "ClusterIP", ports: [{ port: 443, name: "https" }] },
    }),
  );
});

afterAll(async () => {
  life.abort();
  caller[Symbol.dispose]();
  await hook[Symbol.asyncDispose]();
});

function endpoints(ready: boolean): void {
  objects.put(
    endpointSliceKind,
    completed(endpointSliceKind, {
      metadata: {
        name: "hook-1",
        namespace: "n",
        labels: { "kubernetes.io/service-name": "hook" },
      },
      addressType: "IPv4",
      endpoints: [{ addresses: ["127.0.0.1"], conditions: { ready } }],
      ports: [{ name: "https", port }],
    }),
  );
}

const post = (path: string, config: object = {}, timeoutMs = 10_000): Promise<unknown> =>
  client.post({
    config: { service: { namespace: "n", name: "hook", path }, caBundle, ...config },
    body: '{"a":1}',
    timeoutMs,
  });

const messageOf = async (posted: Promise<unknown>): Promise<string> => {
  const error = await posted.then(
    () => undefined,
    (reason: Error) => reason,
  );
  return error?.message ?? "";
};

test("webhook: a Service is resolved through its ready endpoints, verified by its .svc name", async () => {
  endpoints(false);
  const none =
    'Post "https://hook.n.svc:443/convert?timeout=10s": no endpoints available for service "hook"';
  assert.equal(await messageOf(post("/convert")), none);
  endpoints(true);
  assert.deepEqual(await post("/convert"), { a: 1 });
});

test("webhook: upstream's errors for a wrong authority, timeout, status 500 and garbage", async () => {
  endpoints(true);
  const unknown =
    'Post "https://hook.n.svc:443/convert?timeout=10s": tls: failed to verify certificate: x509: certificate signed by unknown authority';
  assert.equal(await messageOf(post("/convert", { caBundle: "" })), unknown);
  const late = 'Post "https://hook.n.svc:443/silent?timeout=0.05s": context deadline exceeded';
  assert.equal(await messageOf(post("/silent", {}, 50)), late);
  const refused = 'an error on the server ("no") has prevented the request from succeeding';
  assert.equal(await messageOf(post("/refuses")), refused);
  assert.match(
    await messageOf(post("/garbage")),
    /^couldn't get version\/kind; json parse error: /,
  );
});

test("webhook: by URL, a certificate for another host is refused", async () => {
  const url = `https://127.0.0.1:${port}/convert`;
  const fault = await messageOf(
    client.post({ config: { url, caBundle }, body: "{}", timeoutMs: 10_000 }),
  );
  assert.match(
    fault,
    /cannot validate certificate for 127\.0\.0\.1 because it doesn't contain any IP SANs$/,
  );
});
