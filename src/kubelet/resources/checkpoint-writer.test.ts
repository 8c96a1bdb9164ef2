import assert from "node:assert/strict";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "vitest";
import { CheckpointWriter } from "./checkpoint-writer.ts";

test("kubelet checkpoint file: saves that wait for a write are one write, with the state of its beginning", async () => {
  const folder = await mkdtemp(join(tmpdir(), "k8ts-checkpoint-"));
  try {
    let state = 0;
    let texts = 0;
    const path = join(folder, "state");
    const text = (): string => {
      texts += 1;
      return String(state);
    };
    const writer = new CheckpointWriter({ path, text, onFailed: assert.fail });
    const first = writer.save();
    await Promise.resolve(); // the first write has begun
    const later: Promise<void>[] = [];
    for (state = 1; state < 10; state++) later.push(writer.save());
    await first;
    assert.equal(await readFile(path, "utf8"), "0");
    await Promise.all(later);
    assert.equal(await readFile(path, "utf8"), "10");
    assert.equal(texts, 2);
  } finally {
    await rm(folder, { recursive: true });
  }
});
