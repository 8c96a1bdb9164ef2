import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished, test } from "vitest";
import { hashByPort } from "./multipath-hash.ts";

test("multipath hash policy: the default is changed and set back, another setting is left alone", async () => {
  const folder = mkdtempSync(join(tmpdir(), "k8ts-multipath-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const [usual, own] = [join(folder, "usual"), join(folder, "own")];
  writeFileSync(usual, "0\n");
  writeFileSync(own, "2\n");
  const restore = await hashByPort([usual, own, join(folder, "missing")]);
  const values = (): string[] => [usual, own].map((file) => readFileSync(file, "utf8").trim());
  assert.deepEqual(values(), ["1", "2"]);
  await restore();
  assert.deepEqual(values(), ["0", "2"]);
});
