import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { Ingress } from "#api/generated/networking.v1.ts";
import { cellsOf, runKind } from "#api/testing/run-kind.ts";
import { ingressKind } from "./ingress.ts";

const LABEL_RULE =
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const SUBDOMAIN_RULE =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";

const service = { service: { name: "s", port: { number: 80 } } };

describe("ingresses", () => {
  const backend = (fields: object) => ({ object: { spec: { defaultBackend: fields } } });
  const path = (fields: object, host = "a.b") => ({
    spec: {
      rules: [
        { host, http: { paths: [{ pathType: "Prefix", path: "/", backend: service, ...fields }] } },
      ],
    },
  });
  const PATHS = "spec.rules[0].http.paths[0]";
  const rows = [
    {
      name: "nothing to do",
      write: { object: { spec: {} } },
      faults: ["spec: Invalid value: null: either `defaultBackend` or `rules` must be specified"],
    },
    {
      name: "two kinds of backend",
      write: backend({ ...service, resource: { kind: "K", name: "n" } }),
      faults: [
        'spec.defaultBackend: Invalid value: "": cannot set both resource and service backends',
      ],
    },
    {
      name: "no kind of backend",
      write: backend({}),
      faults: ['spec.defaultBackend: Invalid value: "": resource or service backend is required'],
    },
    {
      name: "a port by name and number",
      write: backend({ service: { name: "s", port: { name: "p", number: 1 } } }),
      faults: ['spec.defaultBackend: Invalid value: "": cannot set both port name & port number'],
    },
    {
      name: "no name and no port",
      write: backend({ service: { name: "", port: {} } }),
      faults: [
        "spec.defaultBackend.service.name: Required value",
        "spec.defaultBackend: Required value: port name or number is required",
      ],
    },
    {
      name: "a port out of range",
      write: backend({ service: { name: "S", port: { number: 70000 } } }),
      faults: [
        `spec.defaultBackend.service.name: Invalid value: "S": ${LABEL_RULE}`,
        "spec.defaultBackend.service.port.number: Invalid value: 70000: must be between 1 and 65535, inclusive",
      ],
    },
    {
      name: "an object that cannot stand in a path",
      write: backend({ resource: { apiGroup: "A", kind: "k/k", name: "" } }),
      faults: [
        `spec.defaultBackend.resource.apiGroup: Invalid value: "A": ${SUBDOMAIN_RULE}`,
        "spec.defaultBackend.resource.kind: Invalid value: \"k/k\": may not contain '/'",
        "spec.defaultBackend.resource.name: Required value",
      ],
    },
    {
      name: "an address as host",
      write: { object: path({}, "1.2.3.4") },
      faults: [
        'spec.rules[0].host: Invalid value: "1.2.3.4": must be a DNS name, not an IP address',
      ],
    },
    {
      name: "a rule without paths",
      write: { object: { spec: { rules: [{ http: { paths: [] } }] } } },
      faults: ["spec.rules[0].http.paths: Required value"],
    },
    {
      name: "a path without type",
      write: { object: path({ pathType: null }) },
      faults: [`${PATHS}.pathType: Required value: pathType must be specified`],
    },
    {
      name: "a path of unknown type",
      write: { object: path({ pathType: "Regex" }) },
      faults: [
        `${PATHS}.pathType: Unsupported value: "Regex": supported values: "Exact", "ImplementationSpecific", "Prefix"`,
      ],
    },
    {
      name: "a path that climbs",
      write: { object: path({ path: "a//b/../%2F/.." }) },
      faults: [
        "must be an absolute path",
        "must not contain '//'",
        "must not contain '/../'",
        "must not contain '%2F'",
        "cannot end with '/..'",
      ].map((why) => `${PATHS}.path: Invalid value: "a//b/../%2F/..": ${why}`),
    },
    {
      name: "a relative path of the controller's own kind",
      write: { object: path({ pathType: "ImplementationSpecific", path: "a//" }) },
      faults: [`${PATHS}.path: Invalid value: "a//": must be an absolute path`],
    },
    {
      name: "secrets and hosts that cannot be",
      write: {
        object: {
          spec: {
            defaultBackend: service,
            tls: [{ hosts: ["*.*.a"], secretName: "S" }],
            ingressClassName: "C",
          },
        },
      },
      faults: [
        `spec.tls[0].hosts[0]: Invalid value: "*.*.a": a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character (e.g. '*.example.com', regex used for validation is '\\*\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`,
        `spec.tls[0].secretName: Invalid value: "S": ${SUBDOMAIN_RULE}`,
        `spec.ingressClassName: Invalid value: "C": ${SUBDOMAIN_RULE}`,
      ],
    },
    {
      name: "two classes",
      write: {
        object: {
          metadata: { annotations: { "kubernetes.io/ingress.class": "a" } },
          spec: { defaultBackend: service, ingressClassName: "b" },
        },
      },
      faults: [
        'annotations.kubernetes.io/ingress.class: Invalid value: "a": must match `ingressClassName` when both are specified',
      ],
    },
  ];
  for (const { name, write, faults } of rows) {
    test(`refuse ${name}`, () => assert.deepEqual(runKind(ingressKind, write).faults, faults));
  }

  test("what was stored wrong may stay", () => {
    const wrong = { rules: [{ host: "*.a", http: { paths: [] } }], tls: [{ secretName: "S" }] };
    const write = { object: { spec: wrong }, old: { spec: wrong } };
    assert.deepEqual(runKind(ingressKind, write).faults, []);
  });

  test("the class annotation is deprecated", () => {
    const annotated = {
      metadata: { annotations: { "kubernetes.io/ingress.class": "a" } },
      spec: { defaultBackend: service },
    };
    assert.deepEqual(runKind(ingressKind, { object: annotated }).warnings, [
      `annotation "kubernetes.io/ingress.class" is deprecated, please use 'spec.ingressClassName' instead`,
    ]);
    assert.deepEqual(runKind(ingressKind, { object: annotated, old: annotated }).warnings, []);
  });

  test("status is written through its own path only", () => {
    const at = (ip: string) => ({
      ...path({}),
      status: { loadBalancer: { ingress: [{ ip }] } },
    });
    const created = runKind(ingressKind, { object: at("1.1.1.1") }).object as Ingress;
    assert.deepEqual(created.status, { loadBalancer: {} });
    const updated = runKind(ingressKind, { object: at("1.1.1.1"), old: at("2.2.2.2") });
    assert.deepEqual((updated.object as Ingress).status.loadBalancer.ingress, [{ ip: "2.2.2.2" }]);
  });

  test("addresses of a status", () => {
    const ingress = [{ ip: "1.2.3.400" }, { hostname: "1.2.3.4" }, { ip: "::ffff:1.2.3.4" }];
    const { faults, warnings } = runKind(ingressKind, {
      object: { ...path({}), status: { loadBalancer: { ingress } } },
      old: path({}),
      subresource: "status",
    });
    assert.deepEqual(faults, [
      'status.loadBalancer.ingress[0].ip: Invalid value: "1.2.3.400": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)',
      'status.loadBalancer.ingress[1].hostname: Invalid value: "1.2.3.4": must be a DNS name, not an IP address',
      'status.loadBalancer.ingress[2].ip: Invalid value: "::ffff:1.2.3.4": must not be an IPv4-mapped IPv6 address',
    ]);
    assert.equal(warnings.length, 1);
  });

  test("the columns show class, hosts, address and ports", () => {
    const hosts = ["a", "", "b", "c", "d"].map((host) => ({ host }));
    const shown = runKind(ingressKind, {
      object: {
        spec: { rules: hosts, tls: [{}], ingressClassName: "nginx" },
        status: {
          loadBalancer: { ingress: [{ ip: "2.2.2.2" }, { hostname: "h" }, { ip: "2.2.2.2" }] },
        },
      },
      old: path({}),
      subresource: "status",
    });
    assert.deepEqual(cellsOf(ingressKind, shown).slice(1, 5), ["<none>", "a.b", "2.2.2.2,h", "80"]);
    const plain = runKind(ingressKind, {
      object: { spec: { rules: hosts, tls: [{}], ingressClassName: "nginx" } },
    });
    assert.deepEqual(cellsOf(ingressKind, plain).slice(1, 5), [
      "nginx",
      "a,b,c + 2 more...",
      "",
      "80, 443",
    ]);
  });
});
