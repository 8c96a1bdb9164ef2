/**
 * A disk that reports errors, from some call on. strace stands in for it: it makes the calls fail. The
 * write that fails gets a clear error, nothing that was acknowledged before is lost, and the
 * store opens again. Where pages cannot be written, LMDB's library may end the process before the
 * words are out (see docs/decisions/0008-store.md); the rest holds all the same.
 */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, test } from "vitest";
import { systemClock } from "#lib/time/system-clock.ts";
import { openEmbeddedStore } from "#store/embedded.ts";
import { missingProgram } from "../../tools/debian-packages.ts";
import { inspect, takeNotes } from "./crash-inspector.ts";

const WRITER = fileURLToPath(new URL("./crash-writer.ts", import.meta.url));
const missing = missingProgram("strace");

const rows = [
  { name: "a flush", call: "fdatasync", from: 60, refused: true },
  { name: "a page", call: "pwrite64", from: 300, refused: false },
  { name: "several pages", call: "writev", from: 60, refused: false },
];

describe.skipIf(missing !== undefined)(`k8ts: disk errors${missing ? ` (${missing})` : ""}`, () => {
  for (const { name, call, from, refused } of rows) {
    test(`${name} cannot be written`, { timeout: 150_000 }, async () => {
      const directory = mkdtempSync(join(tmpdir(), "k8ts-disk-error-"));
      const data = join(directory, "store");
      const notes = join(directory, "notes");
      const { status, stderr } = spawnSync(
        "strace",
        [
          ...["-f", "-qq", "-o", "/dev/null", "-P", join(data, "data.mdb")],
          ...["-e", `trace=${call}`, "-e", `inject=${call}:error=EIO:when=${from}+`],
          ...[process.execPath, "--import", "tsx", WRITER, data, notes],
        ],
        { stdio: ["ignore", "ignore", "pipe"], timeout: 120_000 },
      );
      assert.notEqual(status, 0, "the writer ends with its first write that is refused");
      if (refused)
        assert.match(stderr.toString(), /the disk refused the write: Input\/output error/);
      const { acknowledged, lines } = takeNotes(notes);
      assert.ok(lines > 0);
      {
        await using store = await openEmbeddedStore({ directory: data, clock: systemClock });
        await inspect(store, acknowledged);
      }
      rmSync(directory, { recursive: true });
    });
  }
});
