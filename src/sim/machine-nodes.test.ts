import assert from "node:assert/strict";
import { test } from "vitest";
import type { Node } from "#api/generated/core.v1.ts";
import { nodeKind } from "#api/kinds/core/v1/node/node.ts";
import { build } from "#testing/build.ts";
import { decideMachineNodes, type Machine } from "./machine-nodes.ts";
import { DEFAULT_TEMPLATE, machineNode } from "./node-template.ts";

const machine = (name: string, state: Machine["state"] = "running"): Machine => ({
  ...{ id: `id-${name}`, name, state },
});
const node = (name: string, failure?: string): Node =>
  build(nodeKind, {
    metadata: {
      name,
      annotations: {
        "sim.k8ts.io/machine": `id-${name}`,
        ...(failure === undefined ? {} : { "sim.k8ts.io/failure": failure }),
      },
    },
  });

interface Case {
  readonly name: string;
  readonly machines?: readonly Machine[];
  readonly nodes?: readonly Node[];
  readonly registered?: readonly string[];
  readonly want?: Partial<Record<"create" | "fail" | "recover", readonly string[]>>;
}

const rows: readonly Case[] = [
  { name: "a new machine registers a Node", machines: [machine("a")], want: { create: ["a"] } },
  { name: "a stopped machine has no Node", machines: [machine("a", "stopped")] },
  { name: "a Node that is there stays", machines: [machine("a")], nodes: [node("a")] },
  {
    name: "a deleted Node stays deleted while the machine runs",
    ...{ machines: [machine("a")], registered: ["id-a"] },
  },
  {
    name: "the Node of a machine that stops is unreachable",
    ...{ machines: [machine("a", "stopped")], nodes: [node("a")], want: { fail: ["a"] } },
  },
  {
    name: "the Node of a machine that is gone is unreachable",
    nodes: [node("a")],
    want: { fail: ["a"] },
  },
  { name: "an unreachable Node is marked once", nodes: [node("a", "unreachable")] },
  {
    name: "the Node of a machine that is started again recovers",
    ...{ machines: [machine("a")], nodes: [node("a", "unreachable")], want: { recover: ["a"] } },
  },
  {
    name: "nodes without a machine are left alone",
    nodes: [build(nodeKind, { metadata: { name: "sim-0" } })],
  },
];

test.each(rows)("simulated machines: $name", ({ machines, nodes, registered, want }) => {
  const { create, fail, recover } = decideMachineNodes(
    machines ?? [],
    nodes ?? [],
    new Set(registered),
  );
  const created = create.map(({ name }) => name);
  const expected = { create: [], fail: [], recover: [], ...want };
  assert.deepEqual({ create: created, fail, recover }, expected);
});

test("simulated machines: a new Node waits for the cloud controller manager", () => {
  const { spec, status, metadata } = machineNode(machine("a"), DEFAULT_TEMPLATE, 0);
  assert.equal(metadata.annotations?.["sim.k8ts.io/machine"], "id-a");
  assert.deepEqual(status.addresses ?? [], []);
  assert.deepEqual(spec.taints, [
    {
      key: "node.cloudprovider.kubernetes.io/uninitialized",
      value: "true",
      effect: "NoSchedule",
    },
  ]);
});
