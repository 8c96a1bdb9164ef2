import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "vitest";
import { SmallFiles } from "./small-files.ts";

test("SmallFiles: files of any length, many at once; one that is missing is undefined", async () => {
  const folder = await mkdtemp(join(tmpdir(), "k8ts-small-"));
  try {
    const texts = [0, 1, 2_047, 2_048, 8_192, 20_000].map((length) => "x".repeat(length));
    await Promise.all(texts.map((text, i) => writeFile(join(folder, String(i)), text)));
    const files = new SmallFiles();
    const read = await Promise.all(
      Array.from({ length: 60 }, (_, i) => files.read(join(folder, String(i % texts.length)))),
    );
    for (const [i, text] of read.entries()) assert.equal(text, texts[i % texts.length]);
    assert.equal(await files.read(join(folder, "missing")), undefined);
    assert.equal(await files.read(folder), undefined);
    assert.match((await files.read("/proc/self/status")) ?? "", /^Pid:\t/m);
  } finally {
    await rm(folder, { recursive: true });
  }
});
