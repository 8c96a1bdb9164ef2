import assert from "node:assert/strict";
import { test } from "vitest";
import { nodeKind } from "#api/kinds/core/v1/node/node.ts";
import { readConfig } from "#scheduler/config/read-config.ts";
import { startScheduling } from "#scheduler/scheduling.testing.ts";
import { quietConfig, quietNodes } from "./quiet-nodes.ts";

test("the example plugin: a node with the quiet-until annotation takes pods when it is removed", async () => {
  const config = readConfig(quietConfig).scheduler;
  await using world = await startScheduling({ config, plugins: [quietNodes] });
  await world.node("n1", {
    metadata: { name: "n1", annotations: { "example.com/quiet-until": "2031-01-01T00:00:00Z" } },
  });
  await world.pod("p", { schedulerName: "quiet" });
  assert.match(world.message("p") ?? "", /^0\/1 nodes are available: 1 node\(s\) were quiet\./);
  await world.cluster.edit(nodeKind, "n1", (node) => void delete node.metadata.annotations);
  await world.advance(1_100);
  assert.equal(world.nodeOf("p"), "n1");
});
