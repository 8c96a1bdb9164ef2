import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "vitest";
import { Allocations } from "./allocations.ts";

const RESOURCES = { requests: { cpu: "100m" } };

test("allocated_pods_state: allocations survive a restart; a damaged file counts as empty", async () => {
  const folder = await mkdtemp(join(tmpdir(), "k8ts-allocations-"));
  try {
    const first = new Allocations(folder, () => undefined, assert.fail);
    first.allocate("a", { containers: { main: RESOURCES } });
    first.actuate("a", "main", RESOURCES);
    first.allocate("gone", { containers: {} });
    first.forgetOthers((uid) => uid === "a");
    await first.save();
    const second = new Allocations(folder, () => undefined, assert.fail);
    await second.load();
    assert.deepEqual(second.allocated("a"), { containers: { main: RESOURCES } });
    assert.deepEqual(second.actuated("a"), { containers: { main: RESOURCES } });
    assert.equal(second.allocated("gone"), undefined);
    await writeFile(join(folder, "allocated_pods_state"), '{"data":"{}","checksum":1}');
    const third = new Allocations(folder, () => undefined, assert.fail);
    await third.load();
    assert.equal(third.allocated("a"), undefined);
  } finally {
    await rm(folder, { recursive: true });
  }
});
