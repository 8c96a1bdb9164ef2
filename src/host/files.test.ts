import assert from "node:assert/strict";
import { mkdtemp, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "vitest";
import { listFolder, pathExists, readTextIfPresent, removeTree, writeFileWhole } from "./files.ts";

test("listFolder: files: written whole with its mode, read back, listed and removed", async () => {
  const dir = await mkdtemp(join(tmpdir(), "k8ts-files-"));
  const path = join(dir, "deep/er/file");
  await writeFileWhole(path, "secret", { mode: 0o600, durable: true });
  assert.equal(await readTextIfPresent(path), "secret");
  assert.equal((await stat(path)).mode & 0o777, 0o600);
  assert.deepEqual(await listFolder(join(dir, "deep/er")), ["file"]);
  await removeTree(dir);
  assert.equal(await pathExists(dir), false);
  assert.equal(await readTextIfPresent(path), undefined);
  assert.deepEqual(await listFolder(dir), []);
});
