import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { type EgressProxies, parseEgressConfig as parse } from "./egress-config.ts";

const parseEgressConfig = (text: string): EgressProxies =>
  parse(text, (file) => file.endsWith(".pem"));
const HEAD = "apiVersion: apiserver.k8s.io/v1beta1\nkind: EgressSelectorConfiguration\n";
const fileOf = (...selections: readonly string[]): string =>
  `${HEAD}egressSelections:\n${selections.map((one) => `- ${one}\n`).join("")}`;
const direct = (name: string): string => `{name: ${name}, connection: {proxyProtocol: Direct}}`;
const failed = "failed to validate egress selector configuration: ";
const PROXY = "{proxyProtocol: HTTPConnect, transport: {uds: {udsName: x}}}";

test("EgressSelectorConfiguration: direct connections are what is made anyway", () => {
  parseEgressConfig(HEAD);
  parseEgressConfig(fileOf(direct("cluster"), direct("Etcd"), direct("controlplane")));
});

test("cluster: HTTPConnect and GRPC over a unix socket or TCP with TLS", () => {
  const cluster = (connection: string): string =>
    fileOf(`{name: cluster, connection: ${connection}}`);
  const parsed = (connection: string) => parseEgressConfig(cluster(connection)).cluster;
  assert.deepEqual(parsed(PROXY), { protocol: "HTTPConnect", path: "x" });
  assert.deepEqual(parsed(PROXY.replace("HTTPConnect", "GRPC")), { protocol: "GRPC", path: "x" });
  const tcp =
    "{tcp: {url: 'https://127.0.0.1:8131', tlsConfig: {caBundle: ca.pem, clientCert: c.pem, clientKey: k.pem}}}";
  assert.deepEqual(parsed(`{proxyProtocol: HTTPConnect, transport: ${tcp}}`), {
    ...{ protocol: "HTTPConnect", host: "127.0.0.1", port: 8131 },
    tls: { caBundle: "ca.pem", clientCert: "c.pem", clientKey: "k.pem" },
  });
  assert.equal(parsed(`{proxyProtocol: GRPC, transport: ${tcp}}`)?.protocol, "GRPC");
});

test("etcd and controlplane (once called master) may be behind a tunnel, too", () => {
  const behind = (name: string): string => `{name: ${name}, connection: ${PROXY}}`;
  const proxy = { protocol: "HTTPConnect", path: "x" };
  assert.deepEqual(parseEgressConfig(fileOf(behind("Master"), behind("etcd"), direct("cluster"))), {
    controlplane: proxy,
    etcd: proxy,
  });
});

const refused = [
  {
    name: "an unknown egress selection name",
    text: fileOf(direct("foo")),
    says: `${failed}service.connection: Unsupported value: "foo": supported values: "cluster", "controlplane", "etcd"`,
  },
  {
    name: "an unknown protocol",
    text: fileOf("{name: cluster, connection: {proxyProtocol: Nope}}"),
    says: `${failed}service.connection.protocol: Unsupported value: "Nope": supported values: "Direct", "HTTPConnect", "GRPC"`,
  },
  {
    name: "a connection without a protocol is refused",
    text: fileOf("{name: cluster, connection: {}}"),
    says: `${failed}service.connection.protocol: Unsupported value: "": supported values: "Direct", "HTTPConnect", "GRPC"`,
  },
  {
    name: "a way beside none",
    text: fileOf(
      "{name: cluster, connection: {proxyProtocol: Direct, transport: {tcp: {url: x}}}}",
    ),
    says: `${failed}service.connection.transport: Invalid value: "direct": config must be absent for direct connect`,
  },
  {
    name: "an egress selection that is named twice",
    text: fileOf(direct("cluster"), direct("cluster")),
    says: `${failed}service.connection[1]: Duplicate value: "cluster"`,
  },
  ...transports([
    [
      "HTTPConnect",
      "",
      "service.connection.transport: Required value: transport must be set for HTTPConnect",
    ],
    ["GRPC", "", "service.connection.transport: Required value: transport must be set for GRPC"],
    [
      "HTTPConnect",
      "{tcp: {url: 'https://x:1'}, uds: {udsName: x}}",
      'service.connection.tcp: Invalid value: {"URL":"https://x:1","TLSConfig":null}: TCP and UDS cannot both be set',
    ],
    ["HTTPConnect", "{}", "service.connection.tcp: Required value: One of TCP or UDS must be set"],
    ["GRPC", "{}", "service.connection.uds: Required value: UDS must be set with GRPC"],
    [
      "GRPC",
      "{uds: {}}",
      'service.connection.udsName: Invalid value: "nil": must be present for UDS connections',
    ],
    [
      "HTTPConnect",
      "{tcp: {url: 'ftp://x'}}",
      'service.connection.url: Invalid value: "ftp://x": supported connection protocols are http:// and https://',
    ],
    [
      "HTTPConnect",
      "{tcp: {url: 'http://x', tlsConfig: {}}}",
      'service.connection.tlsConfig: Invalid value: "nil": config must not be present when using HTTP',
    ],
    [
      "HTTPConnect",
      "{tcp: {url: 'https://x'}}",
      "service.connection.tlsConfig: Required value: TLSConfig must be present when using HTTPS",
    ],
    [
      "HTTPConnect",
      "{tcp: {url: 'https://x', tlsConfig: {caBundle: nofile}}}",
      '[service.connection.tlsConfig.caBundle: Invalid value: "nofile": TLS config ca bundle does not exist, service.connection.tlsConfig.clientCert: Invalid value: "nil": Using TLS requires clientCert, service.connection.tlsConfig.clientKey: Invalid value: "nil": Using TLS requires requires clientKey]',
    ],
    [
      "HTTPConnect",
      "{tcp: {url: 'https://x', tlsConfig: {clientCert: nofile, clientKey: none}}}",
      '[service.connection.tlsConfig.clientCert: Invalid value: "nofile": TLS client cert does not exist, service.connection.tlsConfig.clientKey: Invalid value: "none": TLS client key does not exist]',
    ],
  ]),
  {
    name: "an unknown field of a transport",
    text: fileOf("{name: cluster, connection: {proxyProtocol: GRPC, transport: {foo: 1}}}"),
    says: 'failed to read egress selector config: strict decoding error: unknown field "egressSelections[0].connection.transport.foo"',
  },
  {
    name: "an unknown field",
    text: `${HEAD}foo: 1\n`,
    says: 'failed to read egress selector config: strict decoding error: unknown field "foo"',
  },
];

function transports(rows: readonly (readonly [string, string, string])[]) {
  return rows.map(([protocol, transport, why]) => ({
    name: `${protocol} with the transport ${transport || "none"}`,
    text: fileOf(
      `{name: cluster, connection: {proxyProtocol: ${protocol}${transport === "" ? "" : `, transport: ${transport}`}}}`,
    ),
    says: `${failed}${why}`,
  }));
}

describe("EgressSelectorConfiguration: refused", () => {
  test.each(refused)("$name", ({ text, says }) => {
    assert.throws(() => parseEgressConfig(text), new Error(says));
  });
});
