import assert from "node:assert/strict";
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, test } from "vitest";
import { systemClock } from "#lib/time/system-clock.ts";
import { StoreError } from "#store/contract.ts";
import { openEmbeddedStore } from "#store/embedded.ts";
import { checkDataFile } from "./check-file.ts";

const PAGE_BYTES = 4_096;

describe("checkDataFile: damaged LMDB pages of an embedded store", () => {
  const directory = mkdtempSync(join(tmpdir(), "k8ts-pages-"));
  const path = join(directory, "data.mdb");
  let sound: Buffer;
  let treePages: number[];

  beforeAll(async () => {
    const store = await openEmbeddedStore({ directory, clock: systemClock });
    const put = (size: number) => (_: unknown, i: number) =>
      store.put(`/k/${size}/${i}`, new Uint8Array(size));
    await Promise.all(Array.from({ length: 600 }, put(100)));
    await Promise.all(Array.from({ length: 20 }, put(20_000)));
    await Promise.all(Array.from({ length: 300 }, put(100)));
    await store[Symbol.asyncDispose]();
    sound = readFileSync(path);
    treePages = pagesIn(sound).filter((page) => damagesWith(page, (bytes) => bytes.fill(0)) !== "");
  });
  afterAll(() => rmSync(directory, { recursive: true, force: true }));

  /** What is found when one page is changed. */
  function damagesWith(page: number, change: (bytes: Buffer) => void): string {
    const bytes = Buffer.from(soundPage(page));
    change(bytes);
    writePage(page, bytes);
    try {
      checkDataFile(path, { damagesMax: 10 });
      return "";
    } catch (error) {
      assert.ok(error instanceof StoreError && error.problem.code === "Corrupt", `${error}`);
      return error.message;
    } finally {
      writePage(page, soundPage(page));
    }
  }

  function soundPage(page: number): Buffer {
    return sound.subarray(page * PAGE_BYTES, (page + 1) * PAGE_BYTES);
  }

  function writePage(page: number, bytes: Buffer): void {
    const file = openSync(path, "r+");
    writeSync(file, bytes, 0, PAGE_BYTES, page * PAGE_BYTES);
    closeSync(file);
  }

  test("a sound store passes", () => {
    checkDataFile(path);
  });

  test("a page of zeros in a tree is found, and named", () => {
    assert.ok(treePages.length > 20, `${treePages.length}`);
    for (const page of treePages) {
      const found = damagesWith(page, (bytes) => bytes.fill(0));
      assert.match(found, new RegExp(`page ${page} is damaged: it is no (leaf|branch) of a tree`));
    }
  });

  test.each([
    { name: "the number", change: (bytes: Buffer) => bytes.writeUInt32LE(7_777, 0) },
    { name: "the kind", change: (bytes: Buffer) => bytes.writeUInt16LE(0x20, 18) },
    { name: "the bounds", change: (bytes: Buffer) => bytes.writeUInt16LE(0xffff, 20) },
    { name: "the offset of a node", change: (bytes: Buffer) => bytes.writeUInt16LE(0xfff0, 24) },
    { name: "all but the header", change: (bytes: Buffer) => bytes.fill(0xa5, 24) },
  ])("$name of a page is checked", ({ change }) => {
    for (const page of treePages) assert.notEqual(damagesWith(page, change), "", `page ${page}`);
  });

  test("a store with a damaged page is refused as Corrupt, before LMDB reads it", async () => {
    for (const page of treePages) {
      writePage(page, Buffer.alloc(PAGE_BYTES, 0xff));
      await assert.rejects(openEmbeddedStore({ directory, clock: systemClock }), /is damaged/);
      writePage(page, soundPage(page));
    }
    assert.ok(readFileSync(path).equals(sound), "the file was changed");
    {
      await using store = await openEmbeddedStore({ directory, clock: systemClock });
      assert.equal(await store.count("/k/"), 620);
    }
  });
});

function pagesIn(file: Buffer): number[] {
  return Array.from({ length: file.length / PAGE_BYTES - 2 }, (_, i) => i + 2);
}
