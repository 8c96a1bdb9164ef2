import assert from "node:assert/strict";
import { afterAll, beforeAll, describe, test } from "vitest";
import { startTestApi, type TestApi } from "../api.testing.ts";

let api: TestApi;

beforeAll(async () => {
  api = await startTestApi();
});

afterAll(() => api[Symbol.asyncDispose]());

const NOT_ALLOWED = "the server does not allow this method on the requested resource";
const NOT_FOUND = "the server could not find the requested resource";

const rows: { asked: string; code: number; says?: string | RegExp }[] = [
  // Documents for GET alone.
  ...["/api", "/api/", "/api/v1", "/apis/apps/v1", "/version", "/openid/v1/jwks"].flatMap(
    (path) => [
      { asked: `GET ${path}`, code: 200 },
      { asked: `HEAD ${path}`, code: 405, says: NOT_ALLOWED },
      { asked: `POST ${path}`, code: 405, says: NOT_ALLOWED },
      { asked: `PROPFIND ${path}`, code: 405, says: NOT_ALLOWED },
    ],
  ),
  { asked: "GET /version application/yaml", code: 406, says: /application\/json$/m },
  { asked: "GET /api/v1 text/html", code: 406, says: /^406: Not Acceptable/ },
  { asked: "GET /apis text/html", code: 406, says: /^only the following media types/ },
  // Whatever the method.
  ...["/", "/index.html", "/apis", "/apis/", "/apis/apps", "/healthz", "/livez/ping"].flatMap(
    (path) => ["GET", "HEAD", "POST", "OPTIONS"].map((m) => ({ asked: `${m} ${path}`, code: 200 })),
  ),
  ...["/metrics", "/metrics/slis", "/openapi/v2", "/openapi/v3", "/statusz", "/flagz"].flatMap(
    (path) => ["GET", "HEAD", "PUT"].map((m) => ({ asked: `${m} ${path}`, code: 200 })),
  ),
  { asked: "GET /debug/pprof/", code: 200, says: /profile\?seconds/ },
  {
    asked: "GET /debug/pprof/profile?seconds=3600",
    code: 400,
    says: "seconds must be greater than 0 and at most 30",
  },
  // Resources know no HEAD.
  { asked: "HEAD /api/v1/namespaces/default/configmaps", code: 405, says: NOT_ALLOWED },
  { asked: "HEAD /api/v1/namespaces/default/pods/x/log", code: 405, says: NOT_ALLOWED },
  { asked: "TRACE /api/v1/namespaces/default/configmaps/x", code: 405, says: NOT_ALLOWED },
  {
    asked: "GET /api/v1/componentstatuses?watch=1",
    code: 405,
    says: 'watch is not supported on resources of kind "componentstatuses"',
  },
  {
    asked: "GET /api/v1/componentstatuses?watch=1&timeoutSeconds=a",
    code: 400,
    says: 'strconv.ParseInt: parsing "a": invalid syntax',
  },
  // A collection is deleted in one namespace, never in all.
  { asked: "DELETE /api/v1/configmaps", code: 405, says: NOT_ALLOWED },
  { asked: "DELETE /api/v1/namespaces/none/configmaps", code: 200 },
  { asked: "DELETE /apis/apps/v1/deployments", code: 405, says: NOT_ALLOWED },
  // What cannot be taken apart.
  {
    asked: "GET /api/v1/watch",
    code: 500,
    says: 'Internal Server Error: "/api/v1/watch": failed to create RequestInfo: unable to determine kind and namespace from url, /api/v1/watch\n',
  },
  { asked: "GET /apis//apps/v1", code: 404, says: "404 page not found\n" },
  { asked: "GET /version//", code: 200 },
  { asked: "GET /version/x", code: 404, says: NOT_FOUND },
  // Unknown ones, below what is served and elsewhere.
  { asked: "GET /api/v2", code: 404, says: NOT_FOUND },
  { asked: "HEAD /api/v2", code: 404, says: NOT_FOUND },
  { asked: "GET /apis/apps/v9", code: 404, says: NOT_FOUND },
  { asked: "GET /apis/apps/v9/namespaces/a/deployments", code: 404, says: NOT_FOUND },
  { asked: "GET /api/v1/nope", code: 404, says: NOT_FOUND },
  { asked: "GET /api/v1/proxy/nodes/x", code: 404, says: NOT_FOUND },
  { asked: "GET /api/v1/namespaces/default/bindings/x", code: 404, says: NOT_FOUND },
  { asked: "GET /api/v1/bindings", code: 404, says: NOT_FOUND },
  { asked: "GET /api/v1/namespaces/default/bindings", code: 405, says: NOT_ALLOWED },
  ...["/apis/nope", "/apis/nope/v1", "/apis/nope/v1/foos", "/nothing", "/debug", "/logs"].map(
    (path) => ({ asked: `GET ${path}`, code: 404, says: "404 page not found\n" }),
  ),
  ...["/healthz/", "/healthz/nope", "/metrics/", "/openapi/v2/", "//", "//api/v1/pods"].map(
    (path) => ({ asked: `GET ${path}`, code: 404, says: "404 page not found\n" }),
  ),
  { asked: "GET /openapi/v3/", code: 404, says: "" },
  // Slashes and names.
  { asked: "GET /api/v1/namespaces/", code: 200 },
  { asked: "GET /api/v1//namespaces", code: 404, says: NOT_FOUND },
  { asked: "GET /api/v1/namespaces/default/namespaces", code: 404, says: NOT_FOUND },
  { asked: "GET /api/v1/namespaces/default/namespaces/x", code: 404, says: NOT_FOUND },
  { asked: "GET /api/v1/namespaces/default//configmaps", code: 404, says: NOT_FOUND },
  { asked: "GET /api//v1", code: 404, says: NOT_FOUND },
  { asked: "GET /apis//apps", code: 404, says: "404 page not found\n" },
  {
    asked: "GET /api/v1/namespaces/default/configmaps/%2e%2e",
    code: 400,
    says: `Name parameter invalid: "..": may not be '..'`,
  },
  {
    asked: "GET /api/v1/namespaces/default/configmaps/a%25b",
    code: 400,
    says: `Name parameter invalid: "a%b": may not contain '%'`,
  },
  // Health.
  { asked: "GET /livez?verbose&exclude=ping", code: 200, says: /^\[\+\]ping excluded: ok\n/ },
  {
    asked: "GET /livez?verbose&exclude=nope&exclude=%22a",
    code: 200,
    says: /warn: some health checks cannot be excluded: no matches for "\\"a","nope"\nlivez check passed\n$/,
  },
];

const AGGREGATED = "g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

test("API server paths: what will go says so even where its form is refused", async () => {
  const accept = "application/json;as=Nothing;g=meta.k8s.io;v=v1";
  const { code, warnings } = await api.ask("GET", "/api/v1/componentstatuses", {
    headers: { accept },
  });
  assert.equal(code, 406);
  assert.deepEqual(warnings, ["v1 ComponentStatus is deprecated in v1.19+"]);
});

describe("aggregated discovery", () => {
  const ask = (accept: string, more: Readonly<Record<string, string>> = {}, path = "/apis") =>
    api.ask("GET", path, { headers: { accept, ...more } });

  test.each([
    [`application/json;${AGGREGATED}`, /^\{"kind":"APIGroupDiscoveryList"/],
    [
      `application/yaml;${AGGREGATED}`,
      /^apiVersion: apidiscovery\.k8s\.io\/v2\nitems:\n- metadata:/,
    ],
    [`application/vnd.kubernetes.protobuf;${AGGREGATED}`, /^k8s\0[\s\S]*APIGroupDiscoveryList/],
  ])("in %s", async (accept, begins) => {
    const { code, answer } = await ask(accept);
    assert.ok(answer.body.form === "bytes");
    assert.equal(code, 200);
    assert.equal(answer.body.contentType, accept);
    assert.equal(answer.headers.vary, "Accept");
    assert.match(Buffer.from(answer.body.bytes).toString("latin1"), begins);
  });

  test("is preferred to the old one wherever it stands, and is one document in every form", async () => {
    const [json, yaml] = await Promise.all([
      ask(`application/json,application/json;${AGGREGATED};q=0.1`),
      ask(`application/yaml;${AGGREGATED}`),
    ]);
    assert.equal(json.body.kind, "APIGroupDiscoveryList");
    assert.equal(json.answer.headers.etag, yaml.answer.headers.etag);
    const etag = String(json.answer.headers.etag);
    const again = await ask(`application/json;${AGGREGATED}`, { "if-none-match": etag });
    assert.equal(again.code, 304);
  });

  test("of a version or in a form that is not there gives way, or is refused", async () => {
    const v2beta1 = `application/json;${AGGREGATED.replace("v=v2", "v=v2beta1")}`;
    assert.equal((await ask(v2beta1)).code, 406);
    assert.equal((await ask(`application/cbor;${AGGREGATED}`)).code, 406);
    assert.equal((await ask(`${v2beta1},application/json`)).body.kind, "APIGroupList");
    assert.equal((await ask(`application/json;${AGGREGATED}`, {}, "/apis/apps")).code, 406);
  });
});

const PROTOBUF = (version: string): string =>
  `application/com.github.proto-openapi.spec.${version}+protobuf`;

describe("OpenAPI documents are given in the form that is asked for first", () => {
  test.each([
    ["/openapi/v3/version", "", 200, "application/json"],
    ["/openapi/v3/version", PROTOBUF("v3@v1.0"), 200, PROTOBUF("v3.v1.0")],
    ["/openapi/v3/version", `*/*,${PROTOBUF("v3.v1.0")}`, 200, "application/json"],
    [
      "/openapi/v3/version",
      `application/json;q=0.5,${PROTOBUF("v3.v1.0")}`,
      200,
      PROTOBUF("v3.v1.0"),
    ],
    ["/openapi/v3/version", PROTOBUF("v2.v1.0"), 406, ""],
    ["/openapi/v3/version", "text/html", 406, ""],
    ["/openapi/v3/version", "garbage, a/b/c", 200, ""],
    ["/openapi/v2", `application/json,${PROTOBUF("v2.v1.0")}`, 200, "application/json"],
    ["/openapi/v2", "garbage", 406, ""],
  ])("%s accepting %s", async (path, accept, code, type) => {
    const { answer } = await api.ask("GET", path, { headers: { accept } });
    assert.equal(answer.code, code);
    assert.ok(answer.body.form === "bytes");
    assert.equal(answer.body.contentType, type);
  });
});

describe("API server paths: paths", () => {
  test.each(rows)("$asked", async ({ asked, code, says }) => {
    const [method = "", url = "", accept] = asked.split(" ");
    const answer = await api.ask(method, url, { headers: accept === undefined ? {} : { accept } });
    assert.equal(answer.code, code);
    if (says === undefined) return;
    const said = typeof answer.body === "string" ? answer.body : answer.body.message;
    if (typeof says === "string") assert.equal(said, says);
    else assert.match(said, says);
  });
});
