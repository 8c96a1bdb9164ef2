import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, test } from "vitest";
import { silentLogger } from "#lib/logger.ts";
import { systemClock } from "#lib/time/system-clock.ts";
import { openOwnStore } from "./open-own-store.ts";

const root = mkdtempSync(join(tmpdir(), "k8ts-test-own-store-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));

const surroundings = { clock: systemClock, logger: silentLogger };

test("openOwnStore: an embedded store of another format is refused, and nothing is changed", async () => {
  const flags = { dataDir: root, newCluster: false };
  const store = await openOwnStore(flags, surroundings);
  await store[Symbol.asyncDispose]();
  const format = join(root, "store", "format");
  assert.equal(readFileSync(format, "utf8"), "1\n");
  writeFileSync(format, "2\n");
  const before = readdirSync(join(root, "store"));
  await assert.rejects(
    openOwnStore(flags, surroundings),
    /another version of k8ts: its format is "2", this version reads "1"/,
  );
  assert.deepEqual(readdirSync(join(root, "store")), before);
  assert.ok(existsSync(format));
});
