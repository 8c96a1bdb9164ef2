import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { Node } from "#api/generated/core.v1.ts";
import { nodeKind } from "#api/kinds/core/v1/node/node.ts";
import { startCluster } from "#testing/cluster.ts";
import { decide, ttlController } from "./ttl.ts";

const TTL = "node.alpha.kubernetes.io/ttl";
const rows: readonly [nodes: number, current: string | undefined, want: string][] = [
  [1, undefined, "0"],
  [100, "0", "0"],
  [101, "0", "15"],
  [95, "15", "15"],
  [89, "15", "0"],
  [600, undefined, "30"],
  [5000, "0", "300"],
  [1850, "300", "300"],
  [3, "300", "0"],
  [3, "gibberish", "0"],
];

describe("ttl of nodes", () => {
  for (const [nodes, current, want] of rows) {
    test(`${nodes} nodes, ${current ?? "none"} before: ${want}`, () => {
      const node = { metadata: { name: "n", uid: "u" }, spec: {}, status: {} } as Node;
      const [write] = decide({ node, nodes, current }).writes ?? [];
      assert.ok(write !== undefined && "patch" in write);
      assert.deepEqual(write.patch, { metadata: { annotations: { [TTL]: want }, uid: "u" } });
    });
  }

  test("the hundred and first node changes it for all", async () => {
    await using cluster = await startCluster({ controllers: [ttlController] });
    const ttls = (): readonly (string | undefined)[] => [
      ...new Set(cluster.list(nodeKind).map(({ metadata }) => metadata.annotations?.[TTL])),
    ];
    for (let i = 0; i < 100; i++) await cluster.seed(nodeKind, { metadata: { name: `n${i}` } });
    assert.deepEqual(ttls(), ["0"]);
    await cluster.seed(nodeKind, { metadata: { name: "one-more" } });
    assert.deepEqual(ttls(), ["15"]);
    await cluster.client.delete(nodeKind, { name: "one-more" });
    await cluster.settle();
    assert.deepEqual(ttls(), ["15"]);
  });
});
