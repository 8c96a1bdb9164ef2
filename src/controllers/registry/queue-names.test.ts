import assert from "node:assert/strict";
import { test } from "vitest";
import { queueNameOf } from "./queue-names.ts";

test("queues have upstream's names; a controller of ours its own", () => {
  assert.deepEqual(
    ["deployment-controller", "persistentvolume-binder-controller", "mine"].map(queueNameOf),
    ["deployment", "claims", "mine"],
  );
});
