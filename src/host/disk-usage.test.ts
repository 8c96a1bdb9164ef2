import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "vitest";
import { diskUsage } from "./disk-usage.ts";

test("diskUsage counts bytes and inodes below folders and leaves missing ones out", async () => {
  const folder = await mkdtemp(join(tmpdir(), "k8ts-du-"));
  try {
    await mkdir(join(folder, "a b"));
    await writeFile(join(folder, "a b", "file"), Buffer.alloc(100_000, 1));
    const found = await diskUsage([join(folder, "a b"), join(folder, "missing")]);
    assert.deepEqual([...found.keys()], [join(folder, "a b")]);
    const { bytes, inodes } = found.get(join(folder, "a b"))!;
    assert.ok(bytes >= 100_000, String(bytes));
    assert.equal(inodes, 2);
  } finally {
    await rm(folder, { recursive: true });
  }
});
