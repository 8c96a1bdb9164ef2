import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "vitest";
import { VirtualClock } from "#lib/time/virtual-clock.ts";
import { saveIntoFolder } from "./save.ts";

test("snapshot save --every --keep: saves on time, keeps the latest, goes on after a failure", async () => {
  const folder = mkdtempSync(join(tmpdir(), "k8ts-save-test-"));
  try {
    using clock = new VirtualClock("2030-01-01T00:00:00Z");
    const end = new AbortController();
    const complaints: string[] = [];
    let revision = 0;
    const options = {
      folder,
      keep: 2,
      everyMs: 60_000,
      clock,
      save: async (path: string) => {
        revision += 1;
        if (revision === 3) throw new Error("etcd does not answer");
        writeFileSync(path, "x");
        return { revision, keys: 1, bytes: 1, sha256: "00" };
      },
      say: () => undefined,
      complain: (text: string) => complaints.push(text),
    };
    const saving = saveIntoFolder(options, end.signal);
    await clock.advance(0);
    assert.deepEqual(readdirSync(folder), ["20300101T000000Z-1.snapshot"]);
    await clock.advance(180_000);
    assert.deepEqual(readdirSync(folder).sort(), [
      "20300101T000100Z-2.snapshot",
      "20300101T000300Z-4.snapshot",
    ]);
    assert.deepEqual(complaints, ["no snapshot this time: etcd does not answer"]);
    end.abort();
    await saving;
  } finally {
    rmSync(folder, { recursive: true });
  }
});
