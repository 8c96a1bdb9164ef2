import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { checkEgressConfig } from "./egress-config.ts";

const HEAD = "apiVersion: apiserver.k8s.io/v1beta1\nkind: EgressSelectorConfiguration\n";
const fileOf = (...selections: readonly string[]): string =>
  `${HEAD}egressSelections:\n${selections.map((one) => `- ${one}\n`).join("")}`;
const direct = (name: string): string => `{name: ${name}, connection: {proxyProtocol: Direct}}`;
const failed = "failed to validate egress selector configuration: ";
const PROXY = "{proxyProtocol: HTTPConnect, transport: {uds: {udsName: x}}}";

test("direct connections are what is made anyway", () => {
  checkEgressConfig(HEAD);
  checkEgressConfig(fileOf(direct("cluster"), direct("Etcd"), direct("controlplane")));
});

const refused = [
  {
    name: "a proxy",
    text: fileOf(`{name: cluster, connection: ${PROXY}}`),
    says: "egress selection cluster cannot use HTTPConnect: connections are made directly",
  },
  {
    name: "an unknown place",
    text: fileOf(direct("foo")),
    says: `${failed}service.connection: Unsupported value: "foo": supported values: "cluster", "controlplane", "etcd"`,
  },
  {
    name: "an unknown protocol",
    text: fileOf("{name: cluster, connection: {proxyProtocol: Nope}}"),
    says: `${failed}service.connection.protocol: Unsupported value: "Nope": supported values: "Direct", "HTTPConnect", "GRPC"`,
  },
  {
    name: "no protocol",
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
    name: "a place twice",
    text: fileOf(direct("cluster"), direct("cluster")),
    says: `${failed}service.connection[1]: Duplicate value: "cluster"`,
  },
  {
    name: "an unknown field",
    text: `${HEAD}foo: 1\n`,
    says: 'failed to read egress selector config: strict decoding error: unknown field "foo"',
  },
];

describe("refused", () => {
  test.each(refused)("$name", ({ text, says }) => {
    assert.throws(() => checkEgressConfig(text), new Error(says));
  });
});
