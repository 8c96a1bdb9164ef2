import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { Device, DeviceClaim } from "#api/generated/resource.v1.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { deviceClassKind } from "#api/kinds/resource/v1/device-class.ts";
import { resourceClaimKind } from "#api/kinds/resource/v1/resource-claim.ts";
import { resourceSliceKind } from "#api/kinds/resource/v1/resource-slice.ts";
import type { Transport } from "#client/transport.ts";
import { nextTurn } from "#lib/async/next-turn.ts";
import { readConfig } from "#scheduler/config/read-config.ts";
import { type SchedulingCluster, startScheduling } from "#scheduler/scheduling.testing.ts";

const TURNS_MAX = 10_000;
const DRIVER = "gpu.example.com";
const usesClaim = (name: string) => ({
  resourceClaims: [{ name: "gpu", resourceClaimName: name }],
});
const gpu = (name: string, model: string, memory = "8Gi"): Device => ({
  name,
  attributes: { model: { string: model }, version: { version: "1.2.3" }, index: { int: 4 } },
  capacity: { memory: { value: memory } },
});

async function slice(world: SchedulingCluster, node: string, devices: readonly Device[]) {
  await world.cluster.seed(resourceSliceKind, {
    metadata: { name: `slice-${node}` },
    spec: {
      driver: DRIVER,
      nodeName: node,
      pool: { name: node, generation: 1, resourceSliceCount: 1 },
      devices,
    },
  });
}

async function gpuClass(world: SchedulingCluster) {
  await world.cluster.seed(deviceClassKind, {
    metadata: { name: "gpu" },
    spec: { selectors: [{ cel: { expression: `device.driver == "${DRIVER}"` } }] },
  });
}

async function claim(world: SchedulingCluster, name: string, devices: DeviceClaim) {
  await world.cluster.seed(resourceClaimKind, { metadata: { name }, spec: { devices } });
}

const exactly = (expression?: string, more: object = {}): DeviceClaim => ({
  requests: [
    {
      name: "one",
      exactly: {
        deviceClassName: "gpu",
        ...(expression === undefined ? {} : { selectors: [{ cel: { expression } }] }),
        ...more,
      },
    },
  ],
});

function devicesOf(world: SchedulingCluster, name: string): readonly string[] {
  const { allocation } = world.cluster.get(resourceClaimKind, name)?.status ?? {};
  return (allocation?.devices.results ?? []).map(({ request, device }) => `${request}=${device}`);
}

describe("DynamicResources", () => {
  test("a ResourceClaim is allocated by a CEL selector and reserved for the pod", async () => {
    await using world = await startScheduling();
    await world.node("n1");
    await world.node("n2");
    await gpuClass(world);
    await slice(world, "n1", [gpu("g0", "small")]);
    await slice(world, "n2", [gpu("g0", "small"), gpu("g1", "large", "80Gi")]);
    const expression = `device.attributes["${DRIVER}"].model == "large" && device.capacity["${DRIVER}"].memory.compareTo(quantity("40Gi")) >= 0 && device.attributes["${DRIVER}"].version.isGreaterThan(semver("1.0.0"))`;
    await claim(world, "c", exactly(expression));
    await world.submit("p", usesClaim("c"));
    await world.advance(100);
    assert.equal(world.nodeOf("p"), "n2");
    assert.deepEqual(devicesOf(world, "c"), ["one=g1"]);
    const { status, metadata } = world.cluster.get(resourceClaimKind, "c")!;
    const { uid } = world.cluster.get(podKind, "p")!.metadata;
    assert.deepEqual(status?.reservedFor, [{ resource: "pods", name: "p", uid }]);
    assert.deepEqual(metadata.finalizers, ["resource.kubernetes.io/delete-protection"]);
    assert.deepEqual(status?.allocation?.nodeSelector, {
      nodeSelectorTerms: [
        { matchFields: [{ key: "metadata.name", operator: "In", values: ["n2"] }] },
      ],
    });
  });

  test("devices are not given away twice", async () => {
    await using world = await startScheduling();
    await world.node("n1");
    await gpuClass(world);
    await slice(world, "n1", [gpu("g0", "small")]);
    await claim(world, "a", exactly());
    await claim(world, "b", exactly());
    for (const name of ["a", "b"]) {
      await world.submit(`p-${name}`, usesClaim(name));
      await world.advance(100);
    }
    assert.equal(world.nodeOf("p-a"), "n1");
    assert.equal(world.nodeOf("p-b"), undefined);
    assert.match(
      world.message("p-b") ?? "",
      /1 cannot allocate all claims\. still not schedulable/,
    );
  });

  test("firstAvailable takes the preferred alternative that exists", async () => {
    await using world = await startScheduling();
    await world.node("n1");
    await gpuClass(world);
    await slice(world, "n1", [gpu("g0", "small")]);
    const alternative = (name: string, model: string) => ({
      name,
      deviceClassName: "gpu",
      selectors: [{ cel: { expression: `device.attributes["${DRIVER}"].model == "${model}"` } }],
    });
    await claim(world, "c", {
      requests: [
        { name: "any", firstAvailable: [alternative("best", "large"), alternative("ok", "small")] },
      ],
    });
    await world.submit("p", usesClaim("c"));
    await world.advance(100);
    assert.deepEqual(devicesOf(world, "c"), ["any/ok=g0"]);
  });

  test("matchAttribute, tainted devices and shared counters are respected", async () => {
    await using world = await startScheduling();
    await world.node("n1");
    await gpuClass(world);
    const consumes = {
      consumesCounters: [{ counterSet: "board", counters: { slots: { value: "1" } } }],
    };
    await world.cluster.seed(resourceSliceKind, {
      metadata: { name: "s" },
      spec: {
        driver: DRIVER,
        nodeName: "n1",
        pool: { name: "n1", generation: 1, resourceSliceCount: 2 },
        devices: [
          { ...gpu("a0", "a"), taints: [{ key: "broken", effect: "NoSchedule" }] },
          gpu("a1", "a"),
          { ...gpu("b0", "b"), ...consumes },
          { ...gpu("b1", "b"), ...consumes },
          { ...gpu("b2", "b"), ...consumes },
        ],
      },
    });
    await world.cluster.seed(resourceSliceKind, {
      metadata: { name: "counters" },
      spec: {
        driver: DRIVER,
        nodeName: "n1",
        pool: { name: "n1", generation: 1, resourceSliceCount: 2 },
        sharedCounters: [{ name: "board", counters: { slots: { value: "2" } } }],
      },
    });
    await claim(world, "two", {
      ...exactly(undefined, { count: 2 }),
      constraints: [{ matchAttribute: `${DRIVER}/model` }],
    });
    await world.submit("p", usesClaim("two"));
    await world.advance(100);
    assert.deepEqual(devicesOf(world, "two"), ["one=b0", "one=b1"]);
    await claim(world, "third", exactly(`device.attributes["${DRIVER}"].model == "b"`));
    await world.submit("q", usesClaim("third"));
    await world.advance(100);
    assert.equal(world.nodeOf("q"), undefined);
  });

  test("a pod waits for a ResourceClaim that is created later", async () => {
    await using world = await startScheduling();
    await world.node("n1");
    await gpuClass(world);
    await slice(world, "n1", [gpu("g0", "small")]);
    await world.submit("p", usesClaim("late"));
    await world.advance(100);
    assert.equal(world.cluster.get(podKind, "p")?.spec.nodeName, undefined);
    await claim(world, "late", exactly());
    await world.advance(100);
    assert.equal(world.nodeOf("p"), "n1");
  });

  test("ResourceClaims of one spec get different devices, and a device that is freed is allocated again", async () => {
    await using world = await startScheduling();
    await world.node("n1");
    await gpuClass(world);
    await slice(world, "n1", [gpu("g0", "small"), gpu("g1", "small")]);
    for (const name of ["a", "b", "c"]) {
      await claim(world, name, exactly());
      await world.pod(name, usesClaim(name));
      await world.settle();
    }
    const devices = (): readonly string[] => ["a", "b", "c"].flatMap((n) => devicesOf(world, n));
    assert.deepEqual(devices(), ["one=g0", "one=g1"]);
    const { status: _, ...freed } = world.cluster.get(resourceClaimKind, "a")!;
    await world.cluster.client.update(resourceClaimKind, freed, { subresource: "status" });
    await world.advance(60_000);
    assert.deepEqual(devices(), ["one=g1", "one=g0"]);
  });

  test("two scheduler profiles do not allocate one device to two ResourceClaims", async () => {
    const { scheduler: config } = readConfig({
      apiVersion: "kubescheduler.config.k8s.io/v1",
      kind: "KubeSchedulerConfiguration",
      profiles: [{ schedulerName: "default-scheduler" }, { schedulerName: "other" }],
    });
    // The allocation is not written before both pods were tried.
    let isTried = (): boolean => false;
    const held = (transport: Transport): Transport => ({
      ...transport,
      send: async (call, signal) => {
        const isAllocation = call.verb === "update" && call.kind === resourceClaimKind;
        for (let turns = 0; isAllocation && !isTried() && turns < TURNS_MAX; turns++) {
          await nextTurn();
        }
        return await transport.send(call, signal);
      },
    });
    await using world = await startScheduling({ config, wrap: held });
    isTried = () =>
      ["a", "b"].every((name) => world.scheduler.records.of("default", name) !== undefined);
    await world.node("n1");
    await gpuClass(world);
    await slice(world, "n1", [gpu("g0", "small")]);
    await claim(world, "a", exactly());
    await claim(world, "b", exactly());
    await Promise.all([
      world.submit("a", usesClaim("a")),
      world.submit("b", { ...usesClaim("b"), schedulerName: "other" }),
    ]);
    await world.settle();
    const devices = ["a", "b"].flatMap((name) => devicesOf(world, name));
    assert.deepEqual(devices, ["one=g0"]);
  });

  test("a change of a ResourceClaim wakes only the pods that use it, its deallocation every pod", async () => {
    await using world = await startScheduling();
    await gpuClass(world);
    await world.node("n1");
    await slice(world, "n1", [gpu("g1", "a")]);
    await claim(world, "first", exactly());
    await world.pod("user", usesClaim("first"));
    assert.deepEqual(devicesOf(world, "first"), ["one=g1"]);
    await claim(world, "second", exactly());
    await world.pod("waiting", usesClaim("second"));
    await world.pod("gated", usesClaim("third"));
    const woken = (): string[] =>
      world.metrics
        .text()
        .split("\n")
        .filter((line) => /incoming_pods.*ResourceClaim(Add|Update|Delete)"/.test(line));
    await claim(world, "other", exactly());
    await world.settle();
    assert.deepEqual(woken(), []);
    await claim(world, "third", exactly());
    await world.settle();
    assert.match(woken().join(), /queue="active",event="resource.k8s.io\/ResourceClaimAdd"} 1$/);
    const stored = world.cluster.get(resourceClaimKind, "first")!;
    const { allocation: _a, reservedFor: _r, ...status } = stored.status;
    const freed = { ...stored, status };
    await world.cluster.client.update(resourceClaimKind, freed, { subresource: "status" });
    await world.advance(1_100);
    assert.equal(world.nodeOf("waiting"), "n1");
  });
});
