import assert from "node:assert/strict";
import { test } from "vitest";
import type { Pod, ResourceRequirements } from "#api/generated/core.v1.ts";
import type { ContainerRun } from "./pod-runtime.ts";
import {
  allocationOf,
  decideContainerResizes,
  isResizeWanted,
  resizeSummary,
  whyInfeasible,
  withAllocation,
} from "./resize.ts";

const SMALL = {
  requests: { cpu: "100m", memory: "64Mi" },
  limits: { cpu: "100m", memory: "64Mi" },
};
const LARGE = {
  requests: { cpu: "200m", memory: "64Mi" },
  limits: { cpu: "200m", memory: "64Mi" },
};

test("in-place resize: Infeasible for Guaranteed pods under the static policies", () => {
  const allocation = allocationOf(pod(SMALL));
  const why = (cpuManagerPolicy: string, memoryManagerPolicy: string): string | undefined =>
    whyInfeasible(pod(LARGE), allocation, { cpuManagerPolicy, memoryManagerPolicy });
  assert.equal(
    why("static", "None"),
    'Resize is infeasible for Guaranteed Pods alongside CPU Manager policy "static"',
  );
  assert.equal(why("none", "Static"), undefined); // its memory stays
});

test("in-place resize: a pod runs with its allocation until another one is made", () => {
  const allocation = allocationOf(pod(SMALL));
  assert.equal(isResizeWanted(pod(SMALL), allocation), false);
  assert.equal(
    isResizeWanted(pod({ ...SMALL, requests: { cpu: "0.1", memory: "65536Ki" } }), allocation),
    false,
  );
  assert.equal(isResizeWanted(pod(LARGE), allocation), true);
  assert.deepEqual(withAllocation(pod(LARGE), allocation).spec.containers?.[0]?.resources, SMALL);
  assert.equal(withAllocation(pod(LARGE), undefined).spec.containers?.[0]?.resources, LARGE);
});

test("in-place resize: resizePolicy decides between update and restart", () => {
  const actuated = allocationOf(pod(SMALL));
  const resized = (next: Pod) =>
    decideContainerResizes(next, { sandboxes: [], runs: [run("running")] }, actuated).map(
      ({ container, restart }) => [container.name, restart],
    );
  assert.deepEqual(resized(pod(SMALL)), []);
  assert.deepEqual(resized(pod(LARGE)), [["main", false]]);
  assert.deepEqual(resized(pod(LARGE, "RestartContainer")), [["main", true]]);
  const ended = { sandboxes: [], runs: [run("exited")] };
  assert.deepEqual(decideContainerResizes(pod(LARGE), ended, actuated), []);
});

test("in-place resize: events carry the resources of all containers", () => {
  assert.equal(
    resizeSummary(pod(SMALL)),
    '{"containers":[{"name":"main","resources":{"requests":{"cpu":"100m","memory":"64Mi"},"limits":{"cpu":"100m","memory":"64Mi"}}}],"generation":2}',
  );
});

function pod(resources: ResourceRequirements, restartPolicy = "NotRequired"): Pod {
  const resizePolicy = [{ resourceName: "cpu", restartPolicy }];
  const containers = [{ name: "main", resources, resizePolicy }];
  return { metadata: { name: "pod", generation: 2 }, spec: { containers }, status: {} };
}

function run(state: ContainerRun["state"]): ContainerRun {
  return {
    ...{ id: "1", sandboxId: "s", name: "main", state, createdMs: 0, startedMs: 0, finishedMs: 0 },
    ...{ exitCode: 0, reason: "", message: "", image: "", imageId: "", restartCount: 0, hash: "" },
  };
}
