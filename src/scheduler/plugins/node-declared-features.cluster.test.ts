import assert from "node:assert/strict";
import { test } from "vitest";
import { startScheduling } from "#scheduler/scheduling.testing.ts";

test("NodeDeclaredFeatures: hostNetwork with user namespaces needs a node that declares it", async () => {
  await using world = await startScheduling();
  await world.node("n1");
  await world.pod("p", { hostNetwork: true, hostUsers: false });
  assert.match(world.message("p") ?? "", /1 node\(s\) didn't match Pod's required features\./);
  await world.node("n2", { status: { declaredFeatures: ["UserNamespacesHostNetworkSupport"] } });
  await world.advance(1_100);
  assert.equal(world.nodeOf("p"), "n2");
});
