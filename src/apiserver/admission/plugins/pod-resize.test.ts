import assert from "node:assert/strict";
import { test } from "vitest";
import { nodeKind } from "#api/kinds/core/v1/node/node.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { admitWith, loosePod as pod } from "#testing/admission.ts";
import { MemoryObjects } from "#testing/memory-objects.ts";
import { podResizeValidator } from "./pod-resize.ts";

test("a pod does not grow beyond its node", async () => {
  const objects = new MemoryObjects();
  const node = {
    metadata: { name: "n" },
    spec: {},
    status: { allocatable: { cpu: "2", memory: "1Gi" } },
  };
  objects.put(nodeKind, node as never);
  const sized = (cpu: string, generation: number): never =>
    pod(
      { nodeName: "n", containers: [{ name: "c", resources: { requests: { cpu } } }] },
      { generation },
    );
  const resize = (cpu: string) =>
    admitWith(podResizeValidator, podKind, sized(cpu, 2), {
      objects,
      old: sized("1", 1),
      subresource: "resize",
    });
  assert.equal((await resize("2")).status, undefined);
  const { status } = await resize("3");
  assert.equal(
    status?.message,
    'pods "p" is forbidden: node didn\'t have enough allocatable resources: cpu, requested: 3000, ' +
      "allocatable: 2000",
  );
});
