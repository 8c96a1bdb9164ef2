import assert from "node:assert/strict";
import { test } from "vitest";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { startScheduling } from "#scheduler/scheduling.testing.ts";
import { whyPage } from "./decisions.ts";

test("why: the page of a pod says that no node fits and which resource is short", async () => {
  await using world = await startScheduling({});
  await world.node("n1");
  await world.pod("big", {
    containers: [{ name: "c", image: "c", resources: { requests: { cpu: "999" } } }],
  });
  assert.equal(world.cluster.get(podKind, "big")?.spec.nodeName, undefined);
  const deciders = { scheduler: world.scheduler.records, controllers: undefined };
  const page = whyPage(deciders, "/why/pod/default/big") ?? "";
  assert.match(page, /Pod default\/big: 1 recorded attempt/);
  assert.match(page, /Insufficient cpu/);
  const json = JSON.parse(whyPage(deciders, "/why/pod/default/big.json") ?? "");
  assert.equal(json.scheduler.attempts[0].outcome.kind, "none");
  assert.match(whyPage(deciders, "/why/pod/default/none") ?? "", /No attempt to schedule/);
  assert.match(whyPage(deciders, "/why/job/default/x") ?? "", /No decision about job default\/x/);
  assert.equal(whyPage(deciders, "/metrics"), undefined);
});
