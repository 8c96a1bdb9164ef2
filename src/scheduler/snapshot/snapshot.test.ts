import { expect, test } from "vitest";
import type { Pod } from "#api/generated/core.v1.ts";
import { nodeKind } from "#api/kinds/core/v1/node/node.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { build } from "#testing/build.ts";
import { PodInfo } from "./pod-info.ts";
import { Snapshot } from "./snapshot.ts";

const HOST = "kubernetes.io/hostname";
const SPEC = {
  key: "all",
  topologyKey: HOST,
  counts: () => true,
  includes: () => true,
};

function pod(update: { cpu?: string; startTime?: string; nodeName?: string }): Pod {
  const { cpu = "1", startTime, nodeName } = update;
  return build(podKind, {
    metadata: { name: "web", namespace: "default", uid: "uid", labels: { app: "web" } },
    spec: {
      containers: [{ name: "web", image: "web", resources: { requests: { cpu } } }],
      ...(nodeName === undefined ? {} : { nodeName }),
    },
    status: startTime === undefined ? {} : { startTime },
  });
}

function world(): Snapshot {
  const snapshot = new Snapshot();
  for (const name of ["a", "b"]) {
    const labels = { [HOST]: name };
    snapshot.setNode(build(nodeKind, { metadata: { name, labels }, spec: {}, status: {} }));
  }
  return snapshot;
}

const rows = [
  {
    name: "the binding of an assumed pod changes neither counts nor the node's version",
    update: { nodeName: "a" },
    want: { cpuOfA: 1_000, cpuOfB: 0, pods: [1, 0], isNewVersion: false },
  },
  {
    name: "the startTime of a pod changes the node's version: preemption compares it",
    update: { nodeName: "a", startTime: "2030-01-01T00:00:00Z" },
    want: { cpuOfA: 1_000, cpuOfB: 0, pods: [1, 0], isNewVersion: true },
  },
  {
    name: "requests of an assumed pod that changed are counted again",
    update: { nodeName: "a", cpu: "2" },
    want: { cpuOfA: 2_000, cpuOfB: 0, pods: [1, 0], isNewVersion: true },
  },
  {
    name: "a pod that is bound to another node than assumed moves",
    update: { nodeName: "b" },
    want: { cpuOfA: 0, cpuOfB: 1_000, pods: [0, 1], isNewVersion: true },
  },
];

for (const { name, update, want } of rows) {
  test(`scheduler snapshot: ${name}`, () => {
    const snapshot = world();
    const counter = snapshot.counter(SPEC);
    snapshot.assumePod(new PodInfo(pod({})), "a");
    expect([...counter.podsByPlace]).toEqual([1, 0]);
    const [a, b] = snapshot.nodes;
    const { version } = a!;
    snapshot.setPod(pod(update));
    expect({
      cpuOfA: a!.requested.milliCpu,
      cpuOfB: b!.requested.milliCpu,
      pods: [...counter.podsByPlace],
      isNewVersion: a!.version !== version,
    }).toEqual(want);
    expect(snapshot.isAssumed("uid")).toBe(false);
    expect(a!.version).toBe(snapshot.nodeVersions[a!.place]);
  });
}

test("scheduler snapshot: pods by place follow the order of the nodes", () => {
  const snapshot = world();
  const counter = snapshot.counter(SPEC);
  snapshot.setPod(pod({ nodeName: "b" }));
  expect([...counter.podsByPlace]).toEqual([0, 1]);
  snapshot.removeNode("a");
  expect([...counter.podsByPlace]).toEqual([1]);
  snapshot.removePod("uid");
  expect([...counter.podsByPlace]).toEqual([0]);
});

test("scheduler snapshot: domains of a topology follow labels, taints and removals of nodes", () => {
  const snapshot = new Snapshot();
  const setNode = (name: string, zone: string, isTainted = false): void => {
    const taints = isTainted ? [{ key: "k", effect: "NoSchedule" as const }] : [];
    const metadata = { name, labels: { zone } };
    snapshot.setNode(build(nodeKind, { metadata, spec: { taints }, status: {} }));
  };
  const counter = snapshot.counter({
    ...{ key: "zones", topologyKey: "zone", counts: () => true },
    includes: ({ hardTaints }) => hardTaints.length === 0,
  });
  const domains = (): unknown =>
    Object.fromEntries(
      [...counter.domains].map(([name, { nodes, pods }]) => [name, [nodes, pods]]),
    );
  setNode("a", "z1");
  setNode("b", "z1");
  snapshot.setPod(pod({ nodeName: "a" }));
  expect(domains()).toEqual({ z1: [2, 1] });
  setNode("a", "z2");
  expect(domains()).toEqual({ z1: [1, 0], z2: [1, 1] });
  setNode("a", "z2", true);
  expect(domains()).toEqual({ z1: [1, 0] });
  setNode("a", "z2");
  snapshot.removeNode("a");
  expect(domains()).toEqual({ z1: [1, 0] });
  snapshot.removePod("uid");
  setNode("a", "z1");
  expect(domains()).toEqual({ z1: [2, 0] });
});
