import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { eventKind } from "#api/kinds/core/v1/event/event.ts";
import { nodeKind } from "#api/kinds/core/v1/node/node.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { startScheduling } from "./scheduling.testing.ts";

const big = (cpu: string) => [{ name: "c", image: "x", resources: { requests: { cpu } } }];

describe("scheduler", () => {
  test("binds a pending pod to the only node and records the Scheduled event", async () => {
    await using world = await startScheduling();
    await world.node("n1");
    await world.pod("p");
    assert.equal(world.nodeOf("p"), "n1");
    const [event] = world.cluster.list(eventKind);
    assert.equal(event?.reason, "Scheduled");
    assert.equal(event?.message, "Successfully assigned default/p to n1");
    assert.equal(event?.reportingComponent, "default-scheduler");
  });

  test("pod without a node gets the Unschedulable condition and FailedScheduling event", async () => {
    await using world = await startScheduling();
    await world.pod("p");
    assert.equal(world.message("p"), "no nodes available to schedule pods");
    await world.node("n1", { spec: { unschedulable: true } });
    await world.pod("q");
    assert.match(
      world.message("q") ?? "",
      /^0\/1 nodes are available: 1 node\(s\) were unschedulable\./,
    );
    const reasons = world.cluster.list(eventKind).map(({ reason }) => reason);
    assert.deepEqual(reasons, ["FailedScheduling", "FailedScheduling"]);
  });

  test("a node that is added wakes an unschedulable pod", async () => {
    await using world = await startScheduling();
    await world.node("small", { status: { allocatable: { cpu: "1", memory: "1Gi", pods: "10" } } });
    await world.pod("p", { containers: big("2") });
    assert.equal(world.nodeOf("p"), undefined);
    await world.node("large");
    await world.advance(1_100);
    assert.equal(world.nodeOf("p"), "large");
  });

  test("pods do not get more room than the node has, deleted pods give theirs back", async () => {
    await using world = await startScheduling();
    await world.node("n1");
    for (const name of ["a", "b", "c"]) await world.pod(name, { containers: big("2") });
    assert.deepEqual(
      ["a", "b", "c"].map((n) => world.nodeOf(n)),
      ["n1", "n1", undefined],
    );
    assert.match(world.message("c") ?? "", /1 Insufficient cpu/);
    await world.cluster.client.delete(
      podKind,
      { namespace: "default", name: "a" },
      { gracePeriodSeconds: 0 },
    );
    await world.advance(1_100);
    assert.equal(world.nodeOf("c"), "n1");
  });

  test("preemption deletes pods of lower priority and nominates the node", async () => {
    await using world = await startScheduling();
    await world.node("n1");
    await world.pod("low", { containers: big("3"), priority: 1 });
    await world.pod("high", { containers: big("3"), priority: 10 });
    await world.advance(1_100);
    const victim = world.cluster.get(podKind, "low");
    const target = victim?.status?.conditions?.find(({ type }) => type === "DisruptionTarget");
    assert.ok(victim === undefined || target?.reason === "PreemptionByScheduler");
    await world.advance(40_000);
    await world.cluster.client.delete(
      podKind,
      { namespace: "default", name: "low" },
      { gracePeriodSeconds: 0 },
    );
    await world.advance(11_000);
    assert.equal(world.nodeOf("high"), "n1");
    assert.ok(world.cluster.list(eventKind).some(({ reason }) => reason === "Preempted"));
  });

  test("schedulingGates keep a pod out until they are removed", async () => {
    await using world = await startScheduling();
    await world.node("n1");
    await world.pod("p", { schedulingGates: [{ name: "example.com/wait" }] });
    assert.equal(world.nodeOf("p"), undefined);
    await world.cluster.edit(podKind, "p", (pod) => void delete pod.spec.schedulingGates);
    await world.settle();
    assert.equal(world.nodeOf("p"), "n1");
  });

  test("pods of another schedulerName are left alone", async () => {
    await using world = await startScheduling();
    await world.node("n1");
    await world.pod("p", { schedulerName: "other" });
    assert.equal(world.nodeOf("p"), undefined);
  });

  test("a node that is deleted is not used", async () => {
    await using world = await startScheduling();
    await world.node("n1");
    await world.cluster.client.delete(nodeKind, { name: "n1" });
    await world.pod("p");
    assert.equal(world.nodeOf("p"), undefined);
  });
});
