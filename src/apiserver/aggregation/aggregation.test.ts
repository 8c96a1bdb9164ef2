import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TLSSocket } from "node:tls";
import { afterAll, test } from "vitest";
import { issueLeaf, openAuthority } from "#pki/authority.ts";
import { startTestApi, type TestApi } from "../api.testing.ts";
import { bodyOf, startHttpsServer, type TestHttpsServer } from "../webhook/https-server.testing.ts";

// biome-ignore lint/suspicious/noExplicitAny: documents of every shape
type Json = any;

const API_SERVICES = "/apis/apiregistration.k8s.io/v1/apiservices";
const NAME = "v1alpha1.wardle.example.com";
const FLUNDERS = "/apis/wardle.example.com/v1alpha1/namespaces/default/flunders";
const AGGREGATED = {
  headers: { accept: "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList" },
};
const FLUNDER = {
  resource: "flunders",
  responseKind: { group: "wardle.example.com", version: "v1alpha1", kind: "Flunder" },
  scope: "Namespaced",
  singularResource: "flunder",
  verbs: ["create", "get", "list", "watch"],
};

const V3_URL = "/openapi/v3/apis/wardle.example.com/v1alpha1?hash=ABC";
const META = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";
const refersTo = (name: string): Json => ({ $ref: `#/definitions/${name}` });
const OPEN_API_V2 = {
  paths: {
    "/apis/wardle.example.com/v1alpha1/flunders": {
      get: { responses: { "200": { schema: refersTo("com.example.wardle.Flunder") } } },
    },
    "/version/": { get: { operationId: "theirs" } },
  },
  definitions: {
    "com.example.wardle.Flunder": { type: "object", properties: { metadata: refersTo(META) } },
    [META]: { type: "object", description: "of another version" },
    "com.example.wardle.Unused": { type: "object" },
  },
};

interface Wardle extends AsyncDisposable {
  readonly https: TestHttpsServer;
  readonly asked: { url: string; headers: IncomingMessage["headers"]; cn: string; body: string }[];
}

const directory = mkdtempSync(join(tmpdir(), "k8ts-front-proxy-"));
const frontProxy = openAuthority(join(directory, "ca"), "front-proxy-ca", Date.now());
afterAll(() => rmSync(directory, { recursive: true, force: true }));
const client = issueLeaf(
  frontProxy,
  { subject: { commonName: "front-proxy-client" }, purpose: "client auth" },
  Date.now(),
);

/** Serves wardle.example.com/v1alpha1 to clients with a front-proxy certificate. */
async function startWardle(): Promise<Wardle> {
  const asked: Wardle["asked"] = [];
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { url = "", headers, socket } = request;
    const cn = (socket as TLSSocket).getPeerCertificate().subject?.CN ?? "";
    const body = await bodyOf(request);
    asked.push({ url, headers, cn: String(cn), body });
    const json = (code: number, value: unknown, type = "application/json"): void =>
      void response.writeHead(code, { "content-type": type }).end(JSON.stringify(value));
    if (url === "/apis") {
      const versions = [{ version: "v1alpha1", resources: [FLUNDER] }];
      const items = [{ metadata: { name: "wardle.example.com" }, versions }];
      const type = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
      json(200, { kind: "APIGroupDiscoveryList", items }, type);
      return;
    }
    if (url === "/apis/wardle.example.com/v1alpha1") {
      json(200, {
        kind: "APIResourceList",
        groupVersion: "wardle.example.com/v1alpha1",
        resources: [],
      });
      return;
    }
    if (url === "/openapi/v3") {
      json(200, { paths: { "apis/wardle.example.com/v1alpha1": { serverRelativeURL: V3_URL } } });
      return;
    }
    if (url === V3_URL) {
      json(200, { openapi: "3.0.0", info: { title: "Wardle" } });
      return;
    }
    if (url === "/openapi/v2") {
      json(200, OPEN_API_V2);
      return;
    }
    if (url.includes("redirect")) {
      response.writeHead(302, { location: "https://elsewhere/" }).end();
      return;
    }
    if (url.includes("watch=1")) {
      response.writeHead(200, { "content-type": "application/json" });
      response.write('{"type":"ADDED","object":{"kind":"Flunder"}}\n');
      return; // goes on
    }
    json(request.method === "POST" ? 201 : 200, { kind: "Flunder", metadata: { name: "a" } });
  };
  const https = await startHttpsServer(
    ["api.wardle.svc"],
    (request, response) => void serve(request, response),
    { requestCert: true, rejectUnauthorized: true, ca: frontProxy.certificatePem },
  );
  return { https, asked, [Symbol.asyncDispose]: () => https[Symbol.asyncDispose]() };
}

const startApi = (): Promise<TestApi> => startTestApi({ frontProxyClient: () => client });

async function register(t: TestApi, { port, caBundle }: TestHttpsServer, more: Json = {}) {
  await t.want(201, "POST", "/api/v1/namespaces/wardle/services", {
    body: {
      kind: "Service",
      apiVersion: "v1",
      metadata: { name: "api" },
      spec: { type: "ExternalName", externalName: "localhost" },
    },
  });
  await t.want(201, "POST", API_SERVICES, {
    body: {
      kind: "APIService",
      apiVersion: "apiregistration.k8s.io/v1",
      metadata: { name: NAME },
      spec: {
        group: "wardle.example.com",
        version: "v1alpha1",
        groupPriorityMinimum: 2000,
        versionPriority: 200,
        service: { namespace: "wardle", name: "api", port },
        caBundle,
        ...more,
      },
    },
  });
}

/** Waits for a condition. Time goes on a little with each look. */
async function until(t: TestApi, url: string, isDone: (found: Json) => boolean, options = {}) {
  for (let round = 0; round < 2000; round++) {
    const { body: found } = await t.ask("GET", url, options);
    const body = typeof found === "string" ? JSON.parse(found) : found; // /openapi/v3 is text/plain
    if (isDone(body)) return body;
    await t.clock.advance(10);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  throw new Error(`${url} did not come to it: ${JSON.stringify((await t.ask("GET", url)).body)}`);
}

const available = (status: string) => (found: Json) =>
  found.status?.conditions?.some((one: Json) => one.type === "Available" && one.status === status);

test("APIService: requests are proxied with X-Remote-* headers and the front-proxy certificate", async () => {
  await using wardle = await startWardle();
  await using t = await startApi();
  await register(t, wardle.https);
  const found = await until(t, `${API_SERVICES}/${NAME}`, available("True"));
  const [{ reason, message }] = found.status.conditions;
  assert.deepEqual([reason, message], ["Passed", "all checks passed"]);
  wardle.asked.length = 0;
  const answer = await t.ask("POST", `${FLUNDERS}?dryRun=All`, {
    body: { kind: "Flunder", metadata: { name: "a" } },
    headers: { authorization: "Bearer secret", "x-remote-user": "forged", "x-kept": "1" },
  });
  assert.equal(answer.code, 201);
  const proxied = wardle.asked.find(({ url }) => url.includes("flunders"));
  assert.equal(proxied?.url, `${FLUNDERS}?dryRun=All`);
  assert.equal(proxied?.cn, "front-proxy-client");
  const { headers, body } = proxied!;
  assert.equal(headers["x-remote-user"], "tester");
  assert.match(String(headers["x-remote-group"]), /^system:masters/);
  assert.deepEqual([headers.authorization, headers["x-kept"]], [undefined, "1"]);
  assert.deepEqual(JSON.parse(body), { kind: "Flunder", metadata: { name: "a" } });
});

test("APIService: a watch is streamed, a redirect is answered with 502", async () => {
  await using wardle = await startWardle();
  await using t = await startApi();
  await register(t, wardle.https);
  await until(t, `${API_SERVICES}/${NAME}`, available("True"));
  const { answer } = await t.ask("GET", `${FLUNDERS}?watch=1`);
  assert.ok(answer.body.form === "stream");
  for await (const chunk of answer.body.stream.chunks) {
    assert.equal(Buffer.from(chunk).toString(), '{"type":"ADDED","object":{"kind":"Flunder"}}\n');
    break;
  }
  const redirected = await t.ask("GET", `${FLUNDERS}/redirect`);
  assert.equal(redirected.code, 502);
  assert.match(String(redirected.body), /^the backend attempted to redirect this request/);
});

test("APIService: discovery has the group by its priority, aggregated with the resources of its server", async () => {
  await using wardle = await startWardle();
  await using t = await startApi();
  await register(t, wardle.https);
  const isCurrent = (found: Json): boolean => versionIn(found)?.freshness === "Current";
  const all = await until(t, "/apis", isCurrent, AGGREGATED);
  assert.deepEqual(versionIn(all).resources, [FLUNDER]);
  const groups = (await t.want(200, "GET", "/apis")).groups.map(({ name }: Json) => name);
  assert.equal(groups.at(-1), "wardle.example.com");
  const group = await t.want(200, "GET", "/apis/wardle.example.com");
  assert.equal(group.preferredVersion.groupVersion, "wardle.example.com/v1alpha1");
});

test("APIService: OpenAPI v2 has the API's paths with definitions renamed, v3 is proxied", async () => {
  await using wardle = await startWardle();
  await using t = await startApi();
  await register(t, wardle.https);
  const path = "apis/wardle.example.com/v1alpha1";
  const root = await until(t, "/openapi/v3", ({ paths }) => paths[path] !== undefined);
  assert.equal(root.paths[path].serverRelativeURL, V3_URL);
  const { answer } = await t.ask("GET", V3_URL);
  assert.ok(answer.body.form === "stream");
  assert.deepEqual(JSON.parse(await bodyOf(answer.body.stream.chunks)).info, { title: "Wardle" });
  const isThere = ({ paths }: Json): boolean => paths[`/${path}/flunders`] !== undefined;
  const { paths, definitions } = await until(t, "/openapi/v2", isThere);
  assert.equal(paths["/version/"].get.operationId, "getCodeVersion");
  const flunder = definitions["com.example.wardle.Flunder"];
  assert.deepEqual(flunder.properties.metadata, refersTo(`${META}_v2`));
  assert.equal(definitions[`${META}_v2`].description, "of another version");
  assert.equal(definitions["com.example.wardle.Unused"], undefined);
});

test("APIService: a server that has ended is Stale in discovery and answered with 503 at once", async () => {
  await using t = await startApi();
  {
    await using wardle = await startWardle();
    await register(t, wardle.https);
    await until(t, "/apis", (found) => versionIn(found)?.freshness === "Current", AGGREGATED);
  }
  await t.clock.advance(60_000);
  const dead = await until(t, `${API_SERVICES}/${NAME}`, available("False"));
  const [{ reason, message }] = dead.status.conditions;
  assert.equal(reason, "FailedDiscoveryCheck");
  const url = String.raw`https://localhost:\d+/apis/wardle\.example\.com/v1alpha1`;
  const refused = `^failing or missing response from ${url}: Get "${url}": .+$`;
  assert.match(message, new RegExp(refused));
  const answer = await t.ask("GET", FLUNDERS);
  assert.deepEqual([answer.code, answer.body], [503, "service unavailable\n"]);
  const isStale = (found: Json): boolean => versionIn(found)?.freshness === "Stale";
  const all = await until(t, "/apis", isStale, AGGREGATED);
  assert.deepEqual(versionIn(all).resources, [FLUNDER]);
});

test("APIService: a wrong caBundle is a failed discovery check; insecureSkipTLSVerify passes", async () => {
  await using wardle = await startWardle();
  await using other = await startWardle();
  await using t = await startApi();
  await register(t, { ...wardle.https, caBundle: other.https.caBundle });
  const refused = await until(t, `${API_SERVICES}/${NAME}`, available("False"));
  assert.match(
    refused.status.conditions[0].message,
    /x509: certificate signed by unknown authority$/,
  );
  const body = { spec: { caBundle: null, insecureSkipTLSVerify: true } };
  const headers = { "content-type": "application/merge-patch+json" };
  await t.want(200, "PATCH", `${API_SERVICES}/${NAME}`, { body, headers });
  await until(t, `${API_SERVICES}/${NAME}`, available("True"));
});

function versionIn(document: Json): Json {
  const group = document.items?.find((one: Json) => one.metadata.name === "wardle.example.com");
  return group?.versions[0];
}
