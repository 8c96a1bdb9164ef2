import assert from "node:assert/strict";
import { test } from "vitest";
import { type DeadContainer, decideRemovals } from "./dead-containers.ts";

const containers = [
  container("a3", "a", 3, { isRunning: true }),
  container("a2", "a", 2),
  container("a1", "a", 1),
  container("over1", "over", 1),
  container("gone1", "gone", 1),
];
const sandboxes = [
  { id: "sa2", podUid: "a", createdMs: 2, isReady: true },
  { id: "sa1", podUid: "a", createdMs: 1, isReady: false },
  { id: "sover", podUid: "over", createdMs: 1, isReady: false },
  { id: "sgone", podUid: "gone", createdMs: 1, isReady: false },
];
const world = {
  containers,
  sandboxes,
  hasPod: (uid: string) => uid !== "gone",
  isOver: (uid: string) => uid === "over",
};

test("container garbage collection keeps one dead run per container and nothing of deleted pods", () => {
  assert.deepEqual(decideRemovals({ ...world, all: false }), {
    containers: ["a1", "gone1"],
    sandboxes: ["sa1", "sgone"],
  });
});

test("container garbage collection under DiskPressure removes all containers of finished pods", () => {
  assert.deepEqual(decideRemovals({ ...world, all: true }), {
    containers: ["a1", "over1", "gone1"],
    sandboxes: ["sa1", "sover", "sgone"],
  });
});

function container(
  id: string,
  podUid: string,
  createdMs: number,
  { isRunning = false } = {},
): DeadContainer {
  const sandboxId = podUid === "a" ? "sa2" : `s${podUid}`;
  return { id, sandboxId, podUid, name: "main", createdMs, isRunning };
}
