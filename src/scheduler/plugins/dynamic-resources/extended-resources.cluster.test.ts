/** Extended resources that a DeviceClass stands for. */
import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { Container, Pod } from "#api/generated/core.v1.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { deviceClassKind } from "#api/kinds/resource/v1/device-class.ts";
import { resourceClaimKind } from "#api/kinds/resource/v1/resource-claim.ts";
import { resourceSliceKind } from "#api/kinds/resource/v1/resource-slice.ts";
import { EMPTY_CONFIG, readConfig } from "#scheduler/config/read-config.ts";
import { type SchedulingCluster, startScheduling } from "#scheduler/scheduling.testing.ts";
import { extendedRequests } from "./extended-resource-requests.ts";

const GPU = "example.com/gpu";
const IMPLICIT = "deviceclass.resource.kubernetes.io/gpu";

async function devices(world: SchedulingCluster, node: string, count: number) {
  await world.cluster.seed(resourceSliceKind, {
    metadata: { name: `slice-${node}` },
    spec: {
      ...{ driver: "gpu.example.com", nodeName: node },
      pool: { name: node, generation: 1, resourceSliceCount: 1 },
      devices: Array.from({ length: count }, (_, index) => ({ name: `gpu-${index}` })),
    },
  });
}

async function gpuClass(world: SchedulingCluster) {
  await world.cluster.seed(deviceClassKind, {
    metadata: { name: "gpu" },
    spec: { extendedResourceName: GPU },
  });
}

const asking = (resource: string, amount: string) => ({
  containers: [
    {
      ...{ name: "c", image: "x" },
      resources: { requests: { [resource]: amount }, limits: { [resource]: amount } },
    },
  ],
});

const claimsOf = (world: SchedulingCluster) => [...world.cluster.list(resourceClaimKind)];

describe("DynamicResources: extended resources backed by a DeviceClass", () => {
  for (const resource of [GPU, IMPLICIT]) {
    test(`a pod that requests ${resource} gets a ResourceClaim and devices`, async () => {
      await using world = await startScheduling();
      await world.node("n1");
      await world.node("n2");
      await gpuClass(world);
      await devices(world, "n2", 2);
      await world.submit("p", asking(resource, "2"));
      await world.advance(200);
      assert.equal(world.nodeOf("p"), "n2");
      const [claim] = claimsOf(world);
      const { metadata, spec, status } = claim!;
      assert.match(metadata.name ?? "", /^p-extended-resources-/);
      assert.equal(
        metadata.annotations?.["resource.kubernetes.io/extended-resource-claim"],
        "true",
      );
      assert.deepEqual(
        (metadata.ownerReferences ?? []).map(({ kind, name, controller }) => [
          ...[kind, name, controller],
        ]),
        [["Pod", "p", true]],
      );
      const exactly = { deviceClassName: "gpu", allocationMode: "ExactCount", count: 2 };
      assert.deepEqual(spec.devices.requests, [{ name: "container-0-request-0", exactly }]);
      assert.equal(status?.allocation?.devices.results?.length, 2);
      assert.equal(status?.reservedFor?.[0]?.name, "p");
      assert.deepEqual(world.cluster.get(podKind, "p")?.status?.extendedResourceClaimStatus, {
        requestMappings: [
          {
            ...{ containerName: "c", resourceName: resource },
            requestName: "container-0-request-0",
          },
        ],
        resourceClaimName: metadata.name,
      });
    });
  }

  test("a node whose device plugin offers the resource needs no ResourceClaim", async () => {
    await using world = await startScheduling();
    const capacity = { cpu: "4", memory: "8Gi", pods: "110", [GPU]: "1" };
    await world.node("plain", { status: { capacity, allocatable: capacity } });
    await gpuClass(world);
    await world.submit("p", asking(GPU, "1"));
    await world.advance(200);
    assert.equal(world.nodeOf("p"), "plain");
    assert.deepEqual(claimsOf(world), []);
  });

  test("devices are not given away twice, and a new DeviceClass lets a pod in", async () => {
    await using world = await startScheduling();
    await world.node("n1");
    await devices(world, "n1", 1);
    await world.submit("a", asking(GPU, "1"));
    await world.advance(200);
    assert.match(world.message("a") ?? "", /Insufficient example.com\/gpu/);
    await gpuClass(world);
    await world.advance(20_000);
    assert.equal(world.nodeOf("a"), "n1");
    await world.submit("b", asking(GPU, "1"));
    await world.advance(200);
    assert.match(world.message("b") ?? "", /cannot allocate all claims/);
    assert.equal(claimsOf(world).length, 1);
  });
});

describe("scores of extended resources backed by devices", () => {
  const strategies = ["LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"] as const;
  const configOf = (type: (typeof strategies)[number]) =>
    readConfig({
      ...EMPTY_CONFIG,
      profiles: [
        {
          pluginConfig: [
            {
              name: "NodeResourcesFit",
              args: {
                scoringStrategy: {
                  ...{ type, resources: [{ name: GPU, weight: 1 }] },
                  ...(type === "RequestedToCapacityRatio"
                    ? {
                        requestedToCapacityRatio: {
                          shape: [
                            { utilization: 0, score: 0 },
                            { utilization: 100, score: 10 },
                          ],
                        },
                      }
                    : {}),
                },
              },
            },
            {
              name: "NodeResourcesBalancedAllocation",
              args: {
                resources: [
                  { name: "cpu", weight: 1 },
                  { name: GPU, weight: 1 },
                ],
              },
            },
          ],
        },
      ],
    }).scheduler;

  /** Scores by plugin and node of the pod's last attempt. */
  const scoresOf = (world: SchedulingCluster, plugin: string) => {
    const { outcome } = world.scheduler.records.of("default", "p")!.attempts.at(-1)!;
    assert.equal(outcome.kind, "node");
    return Object.fromEntries(
      outcome.kind === "node"
        ? outcome.scores.map(({ node, byPlugin }) => [node, byPlugin[plugin]])
        : [],
    );
  };

  /** n1 has four devices, one of them in use; n2 has two; n3 has a device plugin with four. */
  async function threeNodes(type: (typeof strategies)[number]) {
    const world = await startScheduling({ config: configOf(type) });
    const capacity = { cpu: "4", memory: "8Gi", pods: "110", [GPU]: "4" };
    await world.node("n1");
    await world.node("n2");
    await world.node("n3", { status: { capacity, allocatable: capacity } });
    await gpuClass(world);
    await devices(world, "n1", 4);
    await devices(world, "n2", 2);
    await world.cluster.seed(resourceClaimKind, {
      metadata: { name: "used" },
      spec: { devices: { requests: [{ name: "r", exactly: { deviceClassName: "gpu" } }] } },
      status: {
        allocation: {
          devices: {
            results: [{ request: "r", driver: "gpu.example.com", pool: "n1", device: "gpu-0" }],
          },
        },
      },
    });
    return world;
  }

  const rows = [
    { type: "LeastAllocated", want: { n1: 50, n2: 50, n3: 75 }, node: "n3" },
    { type: "MostAllocated", want: { n1: 50, n2: 50, n3: 25 }, node: "n1" },
    { type: "RequestedToCapacityRatio", want: { n1: 50, n2: 50, n3: 25 }, node: "n1" },
  ] as const;
  for (const { type, want, node } of rows) {
    test(`${type} counts devices and those that are allocated`, async () => {
      await using world = await threeNodes(type);
      await world.submit("p", asking(GPU, "1"));
      await world.advance(200);
      assert.deepEqual(scoresOf(world, "NodeResourcesFit"), want);
      assert.equal(world.nodeOf("p"), node);
    });
  }

  test("NodeResourcesBalancedAllocation counts them too", async () => {
    await using world = await threeNodes("LeastAllocated");
    const [container] = asking(GPU, "1").containers;
    const requests = { [GPU]: "1", cpu: "1" };
    await world.submit("p", {
      containers: [{ ...container!, resources: { ...container!.resources, requests } }],
    });
    await world.advance(200);
    // n1: cpu 0 -> 25 %, devices 25 -> 50 %; n2: 0 -> 25 %, 0 -> 50 %; n3: 0 -> 25 %, 0 -> 25 %.
    const scores = scoresOf(world, "NodeResourcesBalancedAllocation");
    assert.deepEqual(scores, { n1: 75, n2: 68, n3: 75 });
  });

  test("devices that a selector of the class rejects, and those of other nodes, do not count", async () => {
    await using world = await startScheduling({ config: configOf("MostAllocated") });
    await world.node("n1");
    await world.node("n2");
    await world.cluster.seed(deviceClassKind, {
      metadata: { name: "gpu" },
      spec: {
        extendedResourceName: GPU,
        selectors: [
          { cel: { expression: 'device.attributes["gpu.example.com"].model == "large"' } },
        ],
      },
    });
    const models = { n1: ["large", "large", "small", "small"], n2: ["large", "small"] };
    for (const [node, list] of Object.entries(models)) {
      await world.cluster.seed(resourceSliceKind, {
        metadata: { name: `slice-${node}` },
        spec: {
          ...{ driver: "gpu.example.com", nodeName: node },
          pool: { name: node, generation: 1, resourceSliceCount: 1 },
          devices: list.map((model, index) => ({
            name: `gpu-${index}`,
            attributes: { model: { string: model } },
          })),
        },
      });
    }
    await world.submit("p", asking(GPU, "1"));
    await world.advance(200);
    assert.deepEqual(scoresOf(world, "NodeResourcesFit"), { n1: 50, n2: 100 });
  });

  test("a device that was given away a moment ago counts for the next pod", async () => {
    await using world = await startScheduling({ config: configOf("LeastAllocated") });
    await world.node("n1");
    await world.node("n2");
    await gpuClass(world);
    await devices(world, "n1", 2);
    await devices(world, "n2", 2);
    for (const name of ["a", "b", "c", "p"]) await world.submit(name, asking(GPU, "1"));
    await world.advance(200);
    const nodes = ["a", "b", "c", "p"].map((name) => world.nodeOf(name));
    assert.deepEqual(nodes.filter((node) => node === "n1").length, 2);
    assert.notEqual(nodes[0], nodes[1]);
  });
});

describe("requests of extended resources by container", () => {
  const container = (name: string, count: number, more: Partial<Container> = {}): Container => ({
    ...{ name, resources: { requests: { [GPU]: `${count}`, cpu: "1" } } },
    ...more,
  });
  const rows = [
    {
      name: "containers have requests of their own",
      spec: { containers: [container("a", 1), container("b", 2)] },
      counts: { "container-0-request-1": 1, "container-1-request-1": 2 },
      mapped: ["a=container-0-request-1", "b=container-1-request-1"],
    },
    {
      name: "an init container uses the devices of later containers",
      spec: { initContainers: [container("i", 1)], containers: [container("a", 1)] },
      counts: { "container-1-request-1": 1 },
      mapped: ["a=container-1-request-1", "i=container-1-request-1"],
    },
    {
      name: "init containers share what they need beyond that",
      spec: {
        initContainers: [container("i", 3), container("j", 2)],
        containers: [container("a", 1)],
      },
      counts: { "container-0-request-1": 2, "container-2-request-1": 1 },
      mapped: [
        ...["a=container-2-request-1", "i=container-2-request-1", "i=container-0-request-1"],
        ...["j=container-2-request-1", "j=container-0-request-1"],
      ],
    },
    {
      name: "a sidecar has a request of its own",
      spec: {
        initContainers: [container("s", 1, { restartPolicy: "Always" })],
        containers: [container("a", 1)],
      },
      counts: { "container-0-request-1": 1, "container-1-request-1": 1 },
      mapped: ["s=container-0-request-1", "a=container-1-request-1"],
    },
  ];
  for (const { name, spec, counts, mapped } of rows) {
    test(name, () => {
      const pod: Pod = { metadata: { name: "p" }, spec, status: {} };
      const { requests, mappings } = extendedRequests(pod, new Map([[GPU, "gpu"]]));
      assert.deepEqual(
        Object.fromEntries(requests.map((one) => [one.name, one.exactly?.count])),
        counts,
      );
      assert.deepEqual(
        mappings.map((one) => `${one.containerName}=${one.requestName}`),
        mapped,
      );
    });
  }
});
