import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { nodeKind } from "#api/kinds/core/v1/node/node.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { NodeInfo } from "#scheduler/snapshot/node-info.ts";
import { PodInfo } from "#scheduler/snapshot/pod-info.ts";
import { build } from "#testing/build.ts";
import { Nominator } from "./nominator.ts";

function podInfo(name: string): PodInfo {
  const resources = { requests: { cpu: "1" } };
  return new PodInfo(
    build(podKind, {
      metadata: { name, uid: name, namespace: "default" },
      spec: { containers: [{ name: "c", image: "i", resources }] },
    }),
  );
}

function nodeInfo(): NodeInfo {
  const info = new NodeInfo("n");
  info.setNode(build(nodeKind, { metadata: { name: "n" }, status: { allocatable: { cpu: "4" } } }));
  return info;
}

describe("nominatedNodeName", () => {
  test("the list of nominated pods is replaced, not changed, when a nomination comes or goes", () => {
    const nominator = new Nominator();
    nominator.add(podInfo("a"), "n");
    const before = nominator.onNode("n");
    assert.equal(nominator.onNode("n"), before);
    nominator.add(podInfo("b"), "n");
    assert.deepEqual([before.length, nominator.onNode("n").length], [1, 2]);
    nominator.delete("a");
    assert.deepEqual(
      nominator.onNode("n").map(({ name }) => name),
      ["b"],
    );
    nominator.delete("b");
    assert.deepEqual(nominator.onNode("n"), []);
  });

  test("the node with its nominated pods follows changes of the node and of the nominations", () => {
    const nominator = new Nominator();
    const node = nodeInfo();
    nominator.add(podInfo("a"), "n");
    const cpuWith = (): number =>
      nominator.nodeWith(node, nominator.onNode("n")).requested.milliCpu;
    assert.deepEqual([cpuWith(), node.requested.milliCpu], [1_000, 0]);
    node.addPod(podInfo("running"));
    assert.equal(cpuWith(), 2_000);
    nominator.add(podInfo("b"), "n");
    assert.equal(cpuWith(), 3_000);
    nominator.delete("a");
    assert.equal(cpuWith(), 2_000);
  });
});
