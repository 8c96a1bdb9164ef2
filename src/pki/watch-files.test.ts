import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempSync, rmSync, watch, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, test } from "vitest";
import { VirtualClock } from "#lib/time/virtual-clock.ts";
import { watchFiles } from "./watch-files.ts";

let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "watch-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

/** Waits for the change notification of the file system. */
async function write(file: string, text: string): Promise<void> {
  const ending = new AbortController();
  const seen = once(watch(folder, { signal: ending.signal }), "change");
  writeFileSync(file, text);
  await seen;
  ending.abort();
}

test("watchFiles: a replaced pair of files is reported once, when both are written", async () => {
  const [certificate, key] = [join(folder, "a.crt"), join(folder, "a.key")];
  writeFileSync(certificate, "1");
  writeFileSync(key, "1");
  const clock = new VirtualClock(0);
  const ending = new AbortController();
  let changes = 0;
  watchFiles([certificate, key], () => void changes++, clock, ending.signal);
  await write(certificate, "2");
  await write(key, "2");
  await clock.advance(200);
  assert.equal(changes, 1);
  await write(join(folder, "other"), "x");
  await clock.advance(200);
  assert.equal(changes, 1);
  rmSync(key);
  await clock.advance(200);
  assert.equal(changes, 1);
  ending.abort();
  assert.equal(clock.pendingTimers, 0);
});
