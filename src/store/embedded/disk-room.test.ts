import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "vitest";
import { seededRandom } from "#lib/random.ts";
import { DiskRoom, pagesAdded } from "./disk-room.ts";
import { openLmdbFile } from "./lmdb-file.ts";
import { countPages } from "./page-counts.ts";
import { encodePosition } from "./row.ts";

for (const seed of [1, 2, 3]) {
  test(`disk room: no commit adds more pages than were counted, seed ${seed}`, async () => {
    const directory = mkdtempSync(join(tmpdir(), "k8ts-pages-"));
    await using file = openLmdbFile(directory, {});
    const random = seededRandom(seed);
    const { pageBytes } = countPages(file);
    const sizes = [40, 100, 500, 1_900, 2_040, 2_500, 4_000, 4_090, 9_000, 70_000, 1_400_000];
    const rows: number[] = [];
    let position = 0;
    for (let commit = 0; commit < 150; commit++) {
      const width = [1, 1, 3, 20, 130][random.integer(5)]!;
      const sizeMax = random.integer(width > 3 ? 9 : sizes.length) + 1;
      const rowBytes = Array.from({ length: width }, () => sizes[random.integer(sizeMax)]!);
      const removals = random.next() < 0.7 ? Math.min(rows.length, random.integer(3 * width)) : 0;
      const before = countPages(file);
      await file.root.batch(() => {
        for (let removed = 0; removed < removals; removed++) {
          const [row] = rows.splice(random.integer(rows.length), 1);
          void file.log.remove(encodePosition(row!));
        }
        for (const bytes of rowBytes) {
          rows.push(position);
          void file.log.put(encodePosition(position), Buffer.alloc(bytes));
          position += 128;
        }
      });
      const added = countPages(file).used - before.used;
      const bound = pagesAdded({ rowBytes, removals }, before.tree, pageBytes);
      assert.ok(added <= bound, `${added} pages added, ${bound} counted`);
    }
    rmSync(directory, { recursive: true });
  });
}

test("disk room: the file is extended before it is needed, and never within what is in use", async () => {
  const directory = mkdtempSync(join(tmpdir(), "k8ts-room-"));
  const path = join(directory, "file");
  const content = Buffer.alloc(10 * 4096, 7);
  writeFileSync(path, content);
  let used = 10;
  {
    await using room = await DiskRoom.open({
      path,
      pageBytes: 4096,
      count: () => ({ used, free: 0, tree: 0 }),
    });
    const size = { rowBytes: new Array<number>(20).fill(4_000), removals: 0 };
    const pages = pagesAdded(size, 0, 4096);
    for (let commit = 0; commit < 20; commit++) {
      await room.admit(size, false);
      if (commit % 3 === 0) room.lookAhead(); // before the commit can be seen
      used += pages;
      if (commit % 3 === 1) room.lookAhead();
      assert.ok(statSync(path).size >= used * 4096);
    }
  }
  assert.ok(readFileSync(path).subarray(0, content.length).equals(content));
  rmSync(directory, { recursive: true });
});
