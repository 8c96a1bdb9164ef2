import assert from "node:assert/strict";
import { test } from "vitest";
import { freeName, NODES_MAX, newNodeList, withNode, withRequested } from "./node-list.ts";

const EMPTY = { network: "10.201.7", requested: 0, nodes: [] };
const namesOf = ({ nodes }: { readonly nodes: readonly { readonly name: string }[] }) =>
  nodes.map(({ name }) => name);

test("--nodes: nodes get names and addresses in order", () => {
  const list = withRequested(EMPTY, 2);
  assert.deepEqual(list.nodes, [
    { name: "node-1", address: "10.201.7.2", isStopped: false },
    { name: "node-2", address: "10.201.7.3", isStopped: false },
  ]);
});

test("--nodes: what k8ts node changed stays while the flag stays the same", () => {
  const added = withNode(withRequested(EMPTY, 2), "extra");
  assert.deepEqual(namesOf(withRequested(added, 2)), ["node-1", "node-2", "extra"]);
  assert.deepEqual(namesOf(withRequested(added, 4)), ["node-1", "node-2", "extra", "node-3"]);
  assert.deepEqual(namesOf(withRequested(added, 1)), ["node-1"]);
});

test("nodes: freed names and addresses are given again, never twice", () => {
  const three = withRequested(EMPTY, 3);
  const without = { ...three, nodes: three.nodes.filter(({ name }) => name !== "node-2") };
  assert.equal(freeName(without), "node-2");
  assert.equal(withNode(without, "x").nodes.at(-1)?.address, "10.201.7.3");
  assert.throws(() => withNode(withRequested(EMPTY, NODES_MAX), "one-more"), /at most 100/);
});

test("nodes: a network that the machine has already is not taken", () => {
  assert.equal(newNodeList(5, ["10.201.6.1"]).network, "10.201.5");
  assert.equal(newNodeList(5, ["10.201.5.1", "10.201.6.1"]).network, "10.201.7");
  assert.equal(newNodeList(300, []).network, "10.201.44");
});
