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
  index.remove("uid");
  assert.equal(index.podOf("new"), undefined);
});

test("run index: unseen are containers and sandboxes in another state than a worker saw, and those that are gone", () => {
  const index = new RunIndex(new VirtualClock());
  index.replace("uid", { sandboxIds: ["s"], containers: [{ id: "c", sandboxId: "s" }] });
  const states = (sandbox: number, container: number): Map<string, number> =>
    new Map([
      ["s", sandbox],
      ["c", container],
    ]);
  assert.deepEqual(index.unseen(states(0, 1)), ["s", "c"]); // no worker has looked
  index.retain("uid", states(0, 1));
  assert.deepEqual(index.unseen(states(0, 1).set("of nobody", 1)), []);
  assert.deepEqual(index.unseen(states(0, 2)), ["c"]); // it ended, and its event was lost
  assert.deepEqual(index.unseen(states(1, 1)), ["s"]);
  assert.deepEqual(index.unseen(new Map([["s", 0]])), ["c"]); // the runtime lost it
  index.addContainer("uid", "next", "s");
  assert.deepEqual(index.unseen(states(0, 1).set("next", 1)), ["next"]);
  index.remove("uid");
  assert.deepEqual(index.unseen(new Map()), []);
});
