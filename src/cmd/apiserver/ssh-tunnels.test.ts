import assert from "node:assert/strict";
import { test } from "vitest";
import { nodeKind } from "#api/kinds/core/v1/node/node.ts";
import { build } from "#testing/build.ts";
import { tunnelTarget } from "./ssh-tunnels.ts";

const node = (status: object) => build(nodeKind, { metadata: { name: "a" }, status } as never);
const internal = { type: "InternalIP", address: "10.0.0.1" };
const external = { type: "ExternalIP", address: "192.0.2.1" };

test("SSH tunnels: the ExternalIP of a node is dialled, its kubelet checked at the InternalIP", () => {
  const daemonEndpoints = { kubeletEndpoint: { Port: 10_260 } };
  const addresses = [internal, external];
  assert.deepEqual(tunnelTarget(node({ addresses, daemonEndpoints })), [
    {
      host: "192.0.2.1",
      addresses: ["10.0.0.1", "192.0.2.1"],
      kubelet: { host: "10.0.0.1", port: 10_260 },
    },
  ]);
});

test("SSH tunnels: a node without ExternalIP is dialled at its InternalIP, one without both not at all", () => {
  const [target] = tunnelTarget(node({ addresses: [internal] }));
  assert.deepEqual([target?.host, target?.kubelet.port], ["10.0.0.1", 10_250]);
  const hostname = { type: "Hostname", address: "a" };
  assert.deepEqual(tunnelTarget(node({ addresses: [hostname] })), []);
});
