/** Devices that several claims share, and devices that must be prepared before a pod is bound. */
import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { Device, DeviceRequestAllocationResult } from "#api/generated/resource.v1.ts";
import { deviceClassKind } from "#api/kinds/resource/v1/device-class.ts";
import { resourceClaimKind } from "#api/kinds/resource/v1/resource-claim.ts";
import { resourceSliceKind } from "#api/kinds/resource/v1/resource-slice.ts";
import { type SchedulingCluster, startScheduling } from "#scheduler/scheduling.testing.ts";

const DRIVER = "nic.example.com";

async function offer(world: SchedulingCluster, node: string, devices: readonly Device[]) {
  await world.node(node);
  await world.cluster.seed(resourceSliceKind, {
    metadata: { name: `slice-${node}` },
    spec: {
      ...{ driver: DRIVER, nodeName: node, devices },
      pool: { name: node, generation: 1, resourceSliceCount: 1 },
    },
  });
}

async function nicClass(world: SchedulingCluster) {
  await world.cluster.seed(deviceClassKind, { metadata: { name: "nic" }, spec: {} });
}

async function podWithClaim(world: SchedulingCluster, name: string, bandwidth?: string) {
  const capacity = bandwidth === undefined ? {} : { capacity: { requests: { bandwidth } } };
  await world.cluster.seed(resourceClaimKind, {
    metadata: { name },
    spec: {
      devices: {
        requests: [{ name: "one", exactly: { deviceClassName: "nic", ...capacity } }],
      },
    },
  });
  await world.submit(name, { resourceClaims: [{ name: "nic", resourceClaimName: name }] });
  await pass(world, 200);
}

/** Lets time pass in small steps. A pod that waits for its device keeps the scheduler busy. */
async function pass(world: SchedulingCluster, durationMs: number) {
  const steps = 40;
  for (let i = 0; i < steps; i++) await world.cluster.clock.advance(durationMs / steps);
}

function resultsOf(world: SchedulingCluster, name: string) {
  const { allocation } = world.cluster.get(resourceClaimKind, name)?.status ?? {};
  return allocation?.devices.results ?? [];
}

const consumedOf = (results: readonly DeviceRequestAllocationResult[]) =>
  results.map(({ device, consumedCapacity }) => [device, consumedCapacity]);

describe("DynamicResources: consumable capacity", () => {
  const shared: Device = {
    name: "eth",
    allowMultipleAllocations: true,
    capacity: {
      bandwidth: {
        value: "10G",
        requestPolicy: { default: "1G", validRange: { min: "1G", step: "1G", max: "8G" } },
      },
    },
  };

  test("claims share a device with allowMultipleAllocations until its capacity is consumed", async () => {
    await using world = await startScheduling();
    await nicClass(world);
    await offer(world, "n1", [shared]);
    await podWithClaim(world, "a", "5G");
    await podWithClaim(world, "b", "4G");
    await podWithClaim(world, "c", "2G");
    await podWithClaim(world, "d");
    assert.deepEqual([world.nodeOf("a"), world.nodeOf("b")], ["n1", "n1"]);
    assert.equal(world.nodeOf("c"), undefined);
    assert.match(world.message("c") ?? "", /cannot allocate all claims/);
    assert.equal(world.nodeOf("d"), "n1"); // the policy's default is what is left
    assert.deepEqual(consumedOf(resultsOf(world, "d")), [["eth", { bandwidth: "1G" }]]);
    const shares = ["a", "b", "d"].flatMap((name) =>
      resultsOf(world, name).map(({ shareID }) => shareID),
    );
    assert.equal(new Set(shares).size, 3);
    assert.ok(!shares.includes(undefined));
  });

  test("consumed capacity is free again when a claim is deallocated", async () => {
    await using world = await startScheduling();
    await nicClass(world);
    await offer(world, "n1", [shared]);
    await podWithClaim(world, "a", "8G");
    await podWithClaim(world, "b", "8G");
    assert.equal(world.nodeOf("b"), undefined);
    await world.cluster.edit(resourceClaimKind, "a", (claim) => {
      claim.status = {};
    });
    await pass(world, 20_000);
    assert.equal(world.nodeOf("b"), "n1");
  });

  const rows = [
    { name: "less than the minimum", asked: "10M", consumed: "1G" },
    { name: "between two steps", asked: "1500M", consumed: "1953125Ki" },
    { name: "more than the maximum", asked: "9G", consumed: undefined },
  ];
  for (const { name, asked, consumed } of rows) {
    test(`the request policy rounds up: ${name}`, async () => {
      await using world = await startScheduling();
      await nicClass(world);
      await offer(world, "n1", [shared]);
      await podWithClaim(world, "a", asked);
      const amounts = resultsOf(world, "a").map((one) => one.consumedCapacity?.bandwidth);
      assert.deepEqual(amounts, consumed === undefined ? [] : [consumed]);
    });
  }

  test("a capacity that the device does not have cannot be allocated", async () => {
    await using world = await startScheduling();
    await nicClass(world);
    await offer(world, "n1", [{ name: "plain" }]);
    await podWithClaim(world, "a", "1G");
    assert.equal(world.nodeOf("a"), undefined);
  });
});

describe("DynamicResources: binding conditions", () => {
  const attached: Device = {
    ...{ name: "fpga", bindsToNode: true },
    ...{ bindingConditions: ["Attached"], bindingFailureConditions: ["AttachFailed"] },
  };

  async function setCondition(world: SchedulingCluster, name: string, type: string) {
    const { driver, pool, device } = resultsOf(world, name)[0]!;
    const lastTransitionTime = "2030-01-01T00:00:00Z";
    const condition = { type, status: "True", reason: "R", message: "m", lastTransitionTime };
    await world.cluster.edit(resourceClaimKind, name, (claim) => {
      const devices = [{ driver, pool, device, conditions: [condition] }];
      claim.status = { ...claim.status, devices } as typeof claim.status;
    });
    await pass(world, 200);
  }

  test("a pod is bound when the bindingConditions of its device are true", async () => {
    await using world = await startScheduling();
    await nicClass(world);
    await offer(world, "n1", [attached]);
    await podWithClaim(world, "p");
    assert.equal(world.nodeOf("p"), undefined);
    assert.deepEqual(resultsOf(world, "p")[0]?.bindingConditions, ["Attached"]);
    assert.ok(world.cluster.get(resourceClaimKind, "p")?.status?.allocation?.allocationTimestamp);
    await setCondition(world, "p", "Attached");
    assert.equal(world.nodeOf("p"), "n1");
  });

  test("a bindingFailureCondition ends the attempt, and the claim is allocated anew", async () => {
    await using world = await startScheduling();
    await nicClass(world);
    await offer(world, "n1", [attached]);
    await offer(world, "n2", [{ ...attached, name: "other" }]);
    await podWithClaim(world, "p");
    const [first] = resultsOf(world, "p");
    await setCondition(world, "p", "AttachFailed");
    assert.match(
      world.message("p") ?? "",
      /device binding failed: claim=p, reason=R, message="m"|resourceclaim not available/,
    );
    await pass(world, 60_000);
    const [second] = resultsOf(world, "p");
    assert.ok(second !== undefined);
    assert.notEqual(world.cluster.get(resourceClaimKind, "p")?.status?.devices?.length, 1);
    await setCondition(world, "p", "Attached");
    assert.ok(["n1", "n2"].includes(world.nodeOf("p") ?? ""));
    assert.equal(first?.driver, DRIVER);
  });

  test("after the bindingTimeout the claim is deallocated", async () => {
    await using world = await startScheduling();
    await nicClass(world);
    await offer(world, "n1", [attached]);
    await podWithClaim(world, "p");
    const before = world.cluster.get(resourceClaimKind, "p")?.status?.allocation;
    await pass(world, 601_000);
    await pass(world, 60_000);
    const after = world.cluster.get(resourceClaimKind, "p")?.status?.allocation;
    assert.notEqual(after?.allocationTimestamp, before?.allocationTimestamp);
    assert.equal(world.nodeOf("p"), undefined);
  });
});
