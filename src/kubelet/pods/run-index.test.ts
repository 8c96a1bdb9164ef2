import assert from "node:assert/strict";
import { test } from "vitest";
import { VirtualClock } from "#lib/time/virtual-clock.ts";
import { RunIndex } from "./run-index.ts";

const NOTHING = { sandboxIds: [], containers: [] };

test("run index: containers that are created after a complete list are known without another list", () => {
  const index = new RunIndex(new VirtualClock());
  assert.equal(index.known("uid"), undefined);
  index.replace("uid", NOTHING);
  index.addSandbox("uid", "sandbox");
  index.addContainer("uid", "container", "sandbox");
  assert.deepEqual(index.known("uid"), {
    sandboxIds: ["sandbox"],
    containers: [{ id: "container", sandboxId: "sandbox" }],
  });
  assert.equal(index.podOf("container"), "uid");
});

test("run index: after a CRI call that failed, and after a minute, the runtime is listed again", async () => {
  const clock = new VirtualClock();
  const index = new RunIndex(clock);
  index.replace("uid", NOTHING);
  index.distrust("uid");
  index.addSandbox("uid", "sandbox");
  assert.equal(index.known("uid"), undefined);
  index.replace("uid", { sandboxIds: ["sandbox"], containers: [] });
  await clock.advance(59_000);
  assert.deepEqual(index.known("uid")?.sandboxIds, ["sandbox"]);
  await clock.advance(1_000);
  assert.equal(index.known("uid"), undefined);
});

test("run index: containers that the runtime has removed are forgotten", () => {
  const index = new RunIndex(new VirtualClock());
  index.replace("uid", {
    sandboxIds: ["sandbox"],
    containers: [
      { id: "old", sandboxId: "sandbox" },
      { id: "new", sandboxId: "sandbox" },
    ],
  });
  index.retain(
    "uid",
    new Map([
      ["sandbox", 0],
      ["new", 1],
    ]),
  );
  assert.deepEqual(index.known("uid")?.containers, [{ id: "new", sandboxId: "sandbox" }]);
  assert.equal(index.podOf("old"), undefined);
  assert.equal(index.wasSeen("new", 1), true);
  assert.equal(index.wasSeen("new", 2), false);
  assert.equal(index.wasSeen("old", 1), false);
  index.remove("uid");
  assert.equal(index.podOf("new"), undefined);
  assert.equal(index.wasSeen("new", 1), false);
});
