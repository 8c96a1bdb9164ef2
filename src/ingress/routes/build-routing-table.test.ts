import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { Service } from "#api/generated/core.v1.ts";
import type { EndpointSlice } from "#api/generated/discovery.v1.ts";
import type { Ingress, IngressClass } from "#api/generated/networking.v1.ts";
import { serviceKind } from "#api/kinds/core/v1/service/service.ts";
import { endpointSliceKind } from "#api/kinds/discovery/v1/endpoint-slice.ts";
import { ingressKind } from "#api/kinds/networking/v1/ingress.ts";
import { ingressClassKind } from "#api/kinds/networking/v1/ingress-class.ts";
import { build, type Draft } from "#testing/build.ts";
import { buildRoutingTable, CONTROLLER } from "./build-routing-table.ts";
import { readyEndpoints } from "./ready-endpoints.ts";
import { hostOf } from "./routing-table.ts";

const classes: readonly IngressClass[] = [
  build(ingressClassKind, { metadata: { name: "k8ts" }, spec: { controller: CONTROLLER } }),
  build(ingressClassKind, { metadata: { name: "other" }, spec: { controller: "example.com/x" } }),
];
const services = new Map<string, Service>(
  ["a", "b", "c", "d"].map((name) => [
    `default/${name}`,
    build(serviceKind, { metadata: { name }, spec: { ports: [{ name: "http", port: 80 }] } }),
  ]),
);

const to = (name: string, number = 80) => ({ service: { name, port: { number } } });
const path = (pathType: string, where: string, name: string) => ({
  path: where,
  pathType,
  backend: to(name),
});
const rule = (host: string | undefined, ...paths: ReturnType<typeof path>[]) => ({
  ...(host === undefined ? {} : { host }),
  http: { paths },
});
const ingress = (name: string, draft: Draft<Ingress>): Ingress =>
  build(ingressKind, {
    ...draft,
    metadata: { name, creationTimestamp: "2030-01-01T00:00:00Z", ...draft.metadata },
    spec: { ingressClassName: "k8ts", ...draft.spec },
  });

function built(...ingresses: readonly Ingress[]) {
  const { table, problems, tls } = buildRoutingTable({
    ingresses,
    classes,
    service: (key) => services.get(key),
  });
  return {
    to: (host: string, where: string) =>
      table.find(host, where)?.route.backend?.service.split("/")[1],
    problems: problems.map((p) => `${p.ingress.metadata.name}: ${p.reason}: ${p.message}`),
    tls: tls.map(({ host, secret }) => `${host}=${secret}`),
    table,
  };
}

describe("Ingress host rules", () => {
  const { to: find, problems } = built(
    ingress("hosts", {
      spec: {
        rules: [
          rule("shop.example.com", path("Prefix", "/", "a")),
          rule("*.example.com", path("Prefix", "/", "b")),
          rule(undefined, path("Prefix", "/open", "c")),
        ],
        defaultBackend: to("d"),
      },
    }),
  );
  const rows: readonly (readonly [string, string, string])[] = [
    ["shop.example.com", "/x", "a"],
    ["blog.example.com", "/x", "b"],
    ["deep.blog.example.com", "/x", "d"],
    ["example.com", "/x", "d"],
    ["example.org", "/open/x", "c"],
    ["example.org", "/", "d"],
  ];
  for (const [host, where, want] of rows) {
    test(`${host}${where} goes to ${want}`, () => assert.equal(find(host, where), want));
  }
  test("valid rules are reported without problems", () => assert.deepEqual(problems, []));
});

describe("Ingress routing table", () => {
  test("only Ingresses of classes of this controller are served", () => {
    const spec = { rules: [rule("x.io", path("Prefix", "/", "a"))] };
    const other = ingress("other", { spec: { ...spec, ingressClassName: "other" } });
    assert.equal(built(other).to("x.io", "/"), undefined);
    const annotations = { "kubernetes.io/ingress.class": "k8ts" };
    const old = build(ingressKind, { metadata: { name: "old", annotations }, spec });
    assert.equal(built(old).to("x.io", "/"), "a");
    assert.equal(
      built(build(ingressKind, { metadata: { name: "none" }, spec })).to("x.io", "/"),
      undefined,
    );
  });

  test("the oldest Ingress has a path that two want, the other a Conflict", () => {
    const young = ingress("a-young", {
      metadata: { creationTimestamp: "2030-02-01T00:00:00Z" },
      spec: { rules: [rule("x.io", path("Prefix", "/", "b"))] },
    });
    const old = ingress("z-old", { spec: { rules: [rule("x.io", path("Prefix", "/", "a"))] } });
    const { to: find, problems } = built(young, old);
    assert.equal(find("x.io", "/"), "a");
    assert.deepEqual(problems, ["a-young: Conflict: x.io/ (Prefix) is served by an older rule"]);
  });

  test("backends that cannot be served are problems and match without a backend", () => {
    const resource = { apiGroup: "k8s.example.com", kind: "StorageBucket", name: "assets" };
    const broken = ingress("broken", {
      spec: {
        rules: [
          {
            host: "x.io",
            http: {
              paths: [
                { path: "/r", pathType: "Prefix", backend: { resource } },
                { path: "/m", pathType: "Prefix", backend: to("missing") },
                { path: "/p", pathType: "Prefix", backend: to("a", 81) },
              ],
            },
          },
        ],
      },
    });
    const { table, problems } = built(broken);
    assert.deepEqual(problems, [
      "broken: InvalidBackend: x.io/r: resource backends are not supported (StorageBucket assets), name a Service",
      "broken: InvalidBackend: x.io/m: Service default/missing does not exist",
      "broken: InvalidBackend: x.io/p: Service default/a has no TCP port 81",
    ]);
    const match = table.find("x.io", "/r/x");
    assert.ok(match !== undefined && match.route.backend === undefined);
  });

  test("annotations: values that cannot be used are problems, the rest counts", () => {
    const annotated = ingress("annotated", {
      metadata: {
        annotations: {
          "ingress.k8ts.io/proxy-body-size": "8m",
          "nginx.ingress.kubernetes.io/proxy-read-timeout": "5",
          "ingress.k8ts.io/permanent-redirect": "https://x.io/\r\nevil: 1",
        },
      },
      spec: { rules: [rule("x.io", path("Prefix", "/", "a"))] },
    });
    const { table, problems } = built(annotated);
    const { policy } = table.find("x.io", "/")!.route;
    assert.equal(policy.bodyBytesMax, 8 * 1024 * 1024);
    assert.equal(policy.readTimeoutMs, 5_000);
    assert.equal(policy.redirect, undefined);
    assert.deepEqual(problems, [
      'annotated: InvalidAnnotation: annotation ingress.k8ts.io/permanent-redirect: "https://x.io/\\r\\nevil: 1" is not valid',
    ]);
  });

  test("a regular expression that does not compile is a problem", () => {
    const annotations = { "ingress.k8ts.io/use-regex": "true" };
    const broken = ingress("regex", {
      metadata: { annotations },
      spec: { rules: [rule("x.io", path("ImplementationSpecific", "/(", "a"))] },
    });
    assert.match(built(broken).problems.join(), /^regex: InvalidPath: x\.io\/\(: /);
  });

  test("tls: the oldest Ingress has the certificate of a host", () => {
    const spec = (secretName: string) => ({
      tls: [{ hosts: ["x.io"], secretName }],
      rules: [rule("x.io", path("Prefix", `/${secretName}`, "a"))],
    });
    const { tls, problems, table } = built(
      ingress("a", { spec: spec("one") }),
      ingress("b", { spec: spec("two") }),
    );
    assert.deepEqual(tls, ["x.io=default/one"]);
    assert.deepEqual(problems, [
      "b: Conflict: the certificate for x.io is that of the older Ingress default/a",
    ]);
    assert.equal(table.find("x.io", "/one")?.route.tls, true);
  });

  test("Host headers: port, case and a dot at the end do not matter", () => {
    assert.deepEqual(["X.io:80", "x.IO.", "[::1]:80", ""].map(hostOf), [
      "x.io",
      "x.io",
      "[::1]",
      "",
    ]);
  });
});

describe("ready endpoints of EndpointSlices", () => {
  const slice = (...endpoints: NonNullable<EndpointSlice["endpoints"]>): EndpointSlice =>
    build(endpointSliceKind, {
      metadata: { name: "s" },
      addressType: "IPv4",
      endpoints: [...endpoints],
      ports: [{ name: "http", port: 8080, protocol: "TCP" }],
    });
  const at = (ip: string, ready: boolean, serving = ready) => ({
    addresses: [ip],
    conditions: { ready, serving, terminating: !ready && serving },
  });
  const hosts = (s: EndpointSlice, port = "http"): readonly string[] =>
    readyEndpoints([s, s], port).map(({ host }) => host);

  test("only ready ones while there are any, terminating ones that serve otherwise", () => {
    assert.deepEqual(hosts(slice(at("10.0.0.2", true), at("10.0.0.1", false, true))), ["10.0.0.2"]);
    assert.deepEqual(hosts(slice(at("10.0.0.2", false), at("10.0.0.1", false, true))), [
      "10.0.0.1",
    ]);
  });

  test("of the named port only", () => {
    assert.deepEqual(hosts(slice(at("10.0.0.2", true)), "metrics"), []);
  });
});
