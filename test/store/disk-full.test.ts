/** A disk that fills up: writes fail with a clear error, reads go on, and so do writes after room was made. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test } from "vitest";
import { systemClock } from "#lib/time/system-clock.ts";
import { StoreError } from "#store/contract.ts";
import { openEmbeddedStore } from "#store/embedded.ts";
import { bytes, rejects, text } from "#store/testing/contract-suite.ts";

const DISK_BYTES = 8 * 2 ** 20;
const VALUE = Buffer.alloc(2_500, "x");
/** For more than a thousand deletions, one after the other. */
const TIME = { timeout: 120_000 };
const cannot = whyNoMount();

describe.skipIf(cannot !== undefined)(
  `embedded store on a full disk${cannot ? ` (${cannot})` : ""}`,
  () => {
    test("writes fail clearly, reads go on, and writes go on when there is room", async () => {
      using disk = mountSmallDisk();
      const ballast = join(disk.path, "ballast");
      writeFileSync(ballast, Buffer.alloc(DISK_BYTES / 2));
      const directory = join(disk.path, "store");
      let acknowledged = 0;
      {
        await using store = await openEmbeddedStore({ directory, clock: systemClock });
        const abort = new AbortController();
        let received = 0;
        const watching = store.watch("/k/", { signal: abort.signal }).deliverTo(({ events }) => {
          received += events.length;
        });
        const fill = async (): Promise<void> => {
          for (;;) {
            await store.put(`/k/${acknowledged + 1}`, VALUE);
            acknowledged += 1;
          }
        };
        await rejects(fill(), "NoSpace");
        assert.ok(acknowledged > 100, `${acknowledged} writes before it was full`);
        const revision = await store.currentRevision();
        assert.equal(revision, acknowledged + 1, "what failed made no revision");
        for (let again = 0; again < 3; again++) {
          const writing = store.put("/k/more", VALUE);
          await assert.rejects(writing, (error: unknown) => {
            assert.ok(error instanceof StoreError);
            assert.match(error.message, /disk is full: nothing was written/);
            return true;
          });
        }
        assert.equal((await store.range("/k/")).entries.length, acknowledged);
        assert.equal(
          text((await store.get("/k/1", { atRevision: 2 })).entry?.value),
          VALUE.toString(),
        );
        assert.equal((await store.get("/k/more")).entry, undefined);
        assert.equal(
          received,
          acknowledged,
          "watches got all acknowledged writes, and nothing else",
        );

        rmSync(ballast);
        assert.deepEqual(await store.put("/k/more", bytes("1")), {
          ok: true,
          revision: revision + 1,
        });
        assert.equal(received, acknowledged + 1);
        abort.abort();
        await watching;
      }
      await using store = await openEmbeddedStore({ directory, clock: systemClock });
      assert.equal(await store.count("/k/"), acknowledged + 1);
      assert.equal(text((await store.get("/k/more")).entry?.value), "1");
    });
  },
);

describe.skipIf(cannot !== undefined)(
  `embedded store: making room on a full disk${cannot ? ` (${cannot})` : ""}`,
  TIME,
  () => {
    test("a store that filled its disk can be emptied, written to and opened again", async () => {
      using disk = mountSmallDisk();
      const directory = join(disk.path, "store");
      const history = { ageMs: 60_000, bytesMin: 0, liveShare: 0 };
      const options = { directory, clock: systemClock, history };
      let written = 0;
      {
        await using store = await openEmbeddedStore(options);
        const results = await Promise.allSettled(
          Array.from({ length: 2_000 }, (_, index) => store.put(`/k/${index}`, VALUE)),
        );
        written = results.filter(({ status }) => status === "fulfilled").length;
        assert.ok(written > 300 && written < 2_000, `${written} of 2,000 writes`);
        assert.equal(await store.count("/k/"), written);
      }
      {
        await using store = await openEmbeddedStore(options);
        assert.equal(await store.count("/k/"), written, "it opens although the disk is full");
        const { entries } = await store.range("/k/", { keysOnly: true, limit: written - 100 });
        for (const { key } of entries) assert.equal((await store.delete(key)).ok, true);
        await store.compact(await store.currentRevision());
        const again = await Promise.all(
          Array.from({ length: 300 }, (_, index) => store.put(`/again/${index}`, VALUE)),
        );
        assert.ok(again.every(({ ok }) => ok));
      }
      await using store = await openEmbeddedStore(options);
      assert.deepEqual([await store.count("/k/"), await store.count("/again/")], [100, 300]);
    });
  },
);

describe.skipIf(cannot !== undefined)(
  `embedded store: history on a full disk${cannot ? ` (${cannot})` : ""}`,
  () => {
    test("history that fills the disk is given up before a write is refused", TIME, async () => {
      const diskBytes = 3 * DISK_BYTES; // half of it is more than the pages that are kept in reserve
      using disk = mountSmallDisk(diskBytes);
      const history = { ageMs: 24 * 3_600_000, bytesMin: 10 * 2 ** 30, liveShare: 0 };
      const directory = join(disk.path, "store");
      await using store = await openEmbeddedStore({ directory, clock: systemClock, history });
      for (let written = 0; written < 3 * diskBytes; written += 50 * VALUE.length) {
        await Promise.all(Array.from({ length: 50 }, (_, key) => store.put(`/k/${key}`, VALUE)));
      }
      assert.equal(await store.count("/k/"), 50);
      const kept = await store.revisions();
      assert.ok(kept.length > 100, `${kept.length} revisions`);
    });
  },
);

function mountSmallDisk(bytes = DISK_BYTES): Disposable & { readonly path: string } {
  const path = mkdtempSync(join(tmpdir(), "k8ts-small-disk-"));
  run("mount", ["-t", "tmpfs", "-o", `size=${bytes}`, "tmpfs", path]);
  return {
    path,
    [Symbol.dispose]() {
      run("umount", [path]);
      rmSync(path, { recursive: true });
    },
  };
}

function whyNoMount(): string | undefined {
  if (process.getuid?.() !== 0) return "only root can mount a small disk";
  const path = mkdtempSync(join(tmpdir(), "k8ts-mount-"));
  const { status, stderr } = spawnSync("mount", ["-t", "tmpfs", "tmpfs", path]);
  if (status === 0) run("umount", [path]);
  rmSync(path, { recursive: true });
  return status === 0 ? undefined : `mount: ${stderr?.toString().trim()}`;
}

function run(program: string, args: readonly string[]): void {
  const { status, stderr } = spawnSync(program, args);
  assert.equal(status, 0, `${program}: ${stderr?.toString()}`);
}
