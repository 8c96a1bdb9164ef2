import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { Endpoints, Pod, ServiceSpec } from "#api/generated/core.v1.ts";
import type { Endpoint, EndpointSlice } from "#api/generated/discovery.v1.ts";
import { endpointsKind } from "#api/kinds/core/v1/endpoints.ts";
import { nodeKind } from "#api/kinds/core/v1/node/node.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { serviceKind } from "#api/kinds/core/v1/service/service.ts";
import { endpointSliceKind } from "#api/kinds/discovery/v1/endpoint-slice.ts";
import { timeFromMs } from "#api/meta/time.ts";
import { completed } from "#testing/build.ts";
import { type Cluster, type Draft, startCluster } from "#testing/cluster.ts";
import { endpointSliceController } from "./endpoint-slice.ts";
import { endpointsController } from "./endpoints.ts";
import { endpointSliceMirroringController } from "./mirroring.ts";

const AT = "2030-01-01T00:00:00Z";
const TRIGGER = "endpoints.kubernetes.io/last-change-trigger-time";

async function start(): Promise<Cluster> {
  const cluster = await startCluster({
    at: AT,
    controllers: [
      endpointsController,
      endpointSliceController(),
      endpointSliceMirroringController(),
    ],
  });
  for (const [name, zone] of [
    ["n1", "a"],
    ["n2", "b"],
  ] as const) {
    await cluster.seed(nodeKind, {
      metadata: { name, labels: { "topology.kubernetes.io/zone": zone } },
    });
  }
  return cluster;
}

async function service(cluster: Cluster, spec: Draft<ServiceSpec> = {}): Promise<void> {
  const created = await cluster.client.create(
    serviceKind,
    completed(serviceKind, {
      metadata: { name: "web", namespace: "default", labels: { tier: "front" } },
      spec: {
        selector: { app: "web" },
        ports: [{ name: "http", port: 80, targetPort: "http" }],
        ...spec,
      },
    }),
  );
  assert.ok(created.ok, JSON.stringify(created));
  await cluster.settle();
}

async function pod(
  cluster: Cluster,
  n: number,
  options: { readonly ready?: boolean; readonly node?: string; readonly port?: number } = {},
): Promise<Pod> {
  const { ready = true, node = "n1", port = 8080 } = options;
  return cluster.seed(podKind, {
    metadata: { name: `web-${n}`, labels: { app: "web" } },
    spec: {
      nodeName: node,
      containers: [{ name: "c", image: "i", ports: [{ name: "http", containerPort: port }] }],
    },
    status: {
      phase: "Running",
      podIP: `10.0.${n >> 8}.${n & 255}`,
      podIPs: [{ ip: `10.0.${n >> 8}.${n & 255}` }, { ip: `fd00::${n.toString(16)}` }],
      conditions: [
        {
          type: "Ready",
          status: ready ? "True" : "False",
          lastTransitionTime: timeFromMs(cluster.clock.nowMs()),
        },
      ],
    },
  });
}

const endpoints = (cluster: Cluster): Endpoints => cluster.get(endpointsKind, "web")!;
const slices = (cluster: Cluster): readonly EndpointSlice[] => cluster.list(endpointSliceKind);
const listed = (cluster: Cluster): readonly Endpoint[] =>
  slices(cluster).flatMap((slice) => slice.endpoints ?? []);

test("changes of pods are gathered where that is asked for, and slices are kept small", async () => {
  const slicing = endpointSliceController(2);
  const feeds = slicing.feeds.map((feed) =>
    feed.kind === podKind ? { ...feed, delayMs: 500 } : feed,
  );
  await using cluster = await startCluster({ at: AT, controllers: [{ ...slicing, feeds }] });
  await cluster.seed(nodeKind, { metadata: { name: "n1" } });
  await service(cluster);
  for (let n = 1; n <= 3; n++) await pod(cluster, n);
  assert.equal(listed(cluster).length, 0);
  await cluster.advance(499);
  assert.equal(listed(cluster).length, 0);
  await cluster.advance(1);
  const sizes = slices(cluster).map(({ endpoints: list }) => list?.length);
  assert.deepEqual(sizes.sort(), [1, 2]);
});

describe("endpoints of a service", () => {
  test("none yet: an empty object and an empty slice say so", async () => {
    await using cluster = await start();
    await service(cluster);
    assert.deepEqual(endpoints(cluster).subsets ?? [], []);
    const [slice, ...others] = slices(cluster);
    assert.deepEqual([slice?.endpoints ?? [], slice?.ports ?? [], others], [[], [], []]);
    assert.deepEqual(slice?.metadata.labels, {
      tier: "front",
      "kubernetes.io/service-name": "web",
      "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io",
    });
    assert.equal(slice?.metadata.annotations?.[TRIGGER], AT);
    assert.equal(slice?.metadata.ownerReferences?.[0]?.name, "web");
  });

  test("pods come, become ready, go", async () => {
    await using cluster = await start();
    await service(cluster);
    await cluster.advance(60_000);
    await pod(cluster, 1);
    await pod(cluster, 2, { ready: false, node: "n2" });
    const [subset] = endpoints(cluster).subsets ?? [];
    assert.deepEqual(subset?.ports, [{ name: "http", port: 8080, protocol: "TCP" }]);
    assert.deepEqual(
      [subset?.addresses?.map(({ ip }) => ip), subset?.notReadyAddresses?.map(({ ip }) => ip)],
      [["10.0.0.1"], ["10.0.0.2"]],
    );
    assert.equal(endpoints(cluster).metadata.annotations?.[TRIGGER], "2030-01-01T00:01:00Z");
    assert.equal(
      endpoints(cluster).metadata.labels?.["endpoints.kubernetes.io/managed-by"],
      "endpoint-controller",
    );
    const one = cluster.get(podKind, "web-1")!;
    assert.equal(slices(cluster).length, 1);
    assert.deepEqual(listed(cluster)[0], {
      addresses: ["10.0.0.1"],
      conditions: { ready: true, serving: true, terminating: false },
      targetRef: { kind: "Pod", namespace: "default", name: "web-1", uid: one.metadata.uid },
      nodeName: "n1",
      zone: "a",
    });
    assert.deepEqual(listed(cluster)[1]?.conditions, {
      ready: false,
      serving: false,
      terminating: false,
    });
    await cluster.client.delete(podKind, { namespace: "default", name: "web-1" });
    await cluster.settle();
    assert.deepEqual(listed(cluster)[0]?.conditions, {
      ready: false,
      serving: true,
      terminating: true,
    });
    assert.equal(endpoints(cluster).subsets?.[0]?.addresses, undefined);
    await cluster.edit(podKind, "web-2", (draft) => void (draft.status.phase = "Failed"));
    assert.deepEqual(
      listed(cluster).map(({ addresses }) => addresses?.[0]),
      ["10.0.0.1"],
    );
  });

  test("pods that serve other ports stand in slices of their own", async () => {
    await using cluster = await start();
    await service(cluster);
    await pod(cluster, 1, { port: 8080 });
    await pod(cluster, 2, { port: 9090 });
    assert.deepEqual(
      slices(cluster)
        .map(({ ports }) => ports?.[0]?.port)
        .sort(),
      [8080, 9090],
    );
    assert.equal(endpoints(cluster).subsets?.length, 2);
  });

  test("both families, headless, unready ones published", async () => {
    await using cluster = await start();
    await service(cluster, { clusterIP: "None", publishNotReadyAddresses: true });
    await cluster.edit(
      serviceKind,
      "web",
      (draft) => void (draft.spec.ipFamilies = ["IPv4", "IPv6"]),
    );
    await pod(cluster, 1, { ready: false });
    assert.deepEqual(
      slices(cluster)
        .map(({ addressType, endpoints: list }) => `${addressType} ${list?.[0]?.addresses?.[0]}`)
        .sort(),
      ["IPv4 10.0.0.1", "IPv6 fd00::1"],
    );
    assert.deepEqual(listed(cluster)[0]?.conditions, {
      ready: true,
      serving: false,
      terminating: false,
    });
    assert.equal(slices(cluster)[0]?.metadata.labels?.["service.kubernetes.io/headless"], "");
    assert.equal(endpoints(cluster).subsets?.[0]?.addresses?.length, 1);
  });

  test("a hundred to a slice; a change touches one slice only", async () => {
    await using cluster = await start();
    for (let n = 1; n <= 250; n++) await pod(cluster, n);
    await service(cluster);
    assert.deepEqual(
      slices(cluster)
        .map((slice) => slice.endpoints?.length ?? 0)
        .sort((a, b) => a - b),
      [50, 100, 100],
    );
    const before = new Map(slices(cluster).map((slice) => [slice.metadata.name, slice]));
    await pod(cluster, 251);
    const changed = slices(cluster).filter((slice) => before.get(slice.metadata.name) !== slice);
    assert.deepEqual(
      changed.map((slice) => slice.endpoints?.length),
      [51],
    );
    assert.equal(endpoints(cluster).subsets?.[0]?.addresses?.length, 251);
  });

  test("a pod on a node that is not known yet waits for it", async () => {
    await using cluster = await start();
    await service(cluster);
    await pod(cluster, 1, { node: "n3" });
    assert.equal(listed(cluster).length, 0);
    await cluster.seed(nodeKind, { metadata: { name: "n3" } });
    assert.equal(listed(cluster).length, 1);
  });

  test("traffic that stays close gets hints", async () => {
    await using cluster = await start();
    await service(cluster, { trafficDistribution: "PreferSameNode" });
    await pod(cluster, 1);
    assert.deepEqual(listed(cluster)[0]?.hints, {
      forZones: [{ name: "a" }],
      forNodes: [{ name: "n1" }],
    });
    await cluster.edit(serviceKind, "web", (draft) => {
      draft.spec.trafficDistribution = "PreferClose";
    });
    assert.deepEqual(listed(cluster)[0]?.hints, { forZones: [{ name: "a" }] });
    const { name = "" } = cluster.list(podKind)[0]!.metadata;
    await cluster.edit(podKind, name, (draft) => {
      draft.status.conditions = [{ type: "Ready", status: "False" }];
    });
    assert.equal(listed(cluster)[0]?.hints, undefined);
    await cluster.edit(podKind, name, (draft) => {
      draft.status.conditions = [{ type: "Ready", status: "True" }];
    });
    await cluster.edit(serviceKind, "web", (draft) => {
      delete draft.spec.trafficDistribution;
    });
    assert.equal(listed(cluster)[0]?.hints, undefined);
  });

  test("traffic split by zones, as the annotation asks", async () => {
    await using cluster = await start();
    for (const name of ["n1", "n2"]) {
      await cluster.edit(nodeKind, name, (node) => {
        node.status.allocatable = { cpu: "4" };
        node.status.conditions = [{ type: "Ready", status: "True" }];
      });
    }
    await service(cluster);
    await cluster.edit(serviceKind, "web", (draft) => {
      draft.metadata.annotations = { "service.kubernetes.io/topology-mode": "Auto" };
    });
    for (let n = 1; n <= 4; n++) await pod(cluster, n, { node: n === 4 ? "n2" : "n1" });
    const hints = listed(cluster).map(({ hints: given }) => given?.forZones?.[0]?.name ?? "none");
    assert.deepEqual([...hints].sort(), ["a", "a", "b", "b"]);
    assert.ok(cluster.events.some(({ reason }) => reason === "TopologyAwareHintsEnabled"));
    await cluster.edit(nodeKind, "n2", (node) => {
      node.status.conditions = [{ type: "Ready", status: "False" }];
    });
    assert.ok(listed(cluster).every(({ hints: given }) => given === undefined));
    assert.equal(cluster.events.at(-1)?.reason, "TopologyAwareHintsDisabled");
  });

  test("labels of the service follow; without the service the endpoints go", async () => {
    await using cluster = await start();
    await service(cluster);
    await cluster.edit(serviceKind, "web", (draft) => {
      draft.metadata.labels = { tier: "back" };
    });
    assert.equal(endpoints(cluster).metadata.labels?.tier, "back");
    await pod(cluster, 1);
    assert.equal(slices(cluster)[0]?.metadata.labels?.tier, "back");
    await cluster.client.delete(serviceKind, { namespace: "default", name: "web" });
    await cluster.settle();
    assert.equal(cluster.get(endpointsKind, "web"), undefined);
  });
});

describe("mirrored endpoints", () => {
  const subsets = [
    {
      addresses: [{ ip: "192.0.2.1" }, { ip: "2001:db8::1" }],
      notReadyAddresses: [{ ip: "192.0.2.2" }],
      ports: [{ name: "http", port: 80 }],
    },
  ];

  async function mirrored(): Promise<Cluster> {
    const cluster = await start();
    await service(cluster, {});
    await cluster.edit(serviceKind, "web", (draft) => {
      delete draft.spec.selector;
    });
    for (const name of cluster.names(endpointSliceKind)) {
      await cluster.client.delete(endpointSliceKind, { namespace: "default", name });
    }
    await cluster.client.delete(endpointsKind, { namespace: "default", name: "web" });
    await cluster.settle();
    await cluster.seed(endpointsKind, {
      metadata: { name: "web", labels: { by: "hand" }, annotations: { note: "x" } },
      subsets,
    });
    return cluster;
  }

  test("one slice for each family, with labels and annotations", async () => {
    await using cluster = await mirrored();
    assert.deepEqual(
      slices(cluster)
        .map(({ addressType, endpoints: list }) => `${addressType} ${list?.length}`)
        .sort(),
      ["IPv4 2", "IPv6 1"],
    );
    const slice = slices(cluster).find(({ addressType }) => addressType === "IPv4");
    assert.deepEqual(slice?.metadata.labels, {
      by: "hand",
      "kubernetes.io/service-name": "web",
      "endpointslice.kubernetes.io/managed-by": "endpointslicemirroring-controller.k8s.io",
    });
    assert.deepEqual(slice?.metadata.annotations, { note: "x" });
    assert.deepEqual(
      slice?.endpoints?.map(({ conditions }) => conditions.ready),
      [true, false],
    );
  });

  test("changes follow; a label, a selector or the end of the service ends it", async () => {
    await using cluster = await mirrored();
    await cluster.edit(endpointsKind, "web", (draft) => {
      draft.subsets = [{ addresses: [{ ip: "192.0.2.9" }], ports: [{ port: 81 }] }];
    });
    assert.deepEqual(
      slices(cluster).map((slice) => [slice.ports?.[0]?.port, slice.endpoints?.[0]?.addresses]),
      [[81, ["192.0.2.9"]]],
    );
    await cluster.edit(endpointsKind, "web", (draft) => {
      draft.metadata.labels = { "endpointslice.kubernetes.io/skip-mirror": "true" };
    });
    assert.deepEqual(slices(cluster), []);
  });
});
