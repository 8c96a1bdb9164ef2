import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, test } from "vitest";
import { VirtualClock } from "#lib/time/virtual-clock.ts";
import type { Store } from "./contract.ts";
import { openEmbeddedStore, restoreEmbeddedStore } from "./embedded.ts";
import { createMemoryStore, restoreMemoryStore } from "./memory.ts";
import { verifySnapshot } from "./snapshot.ts";
import { bytes, rejects, text } from "./testing/contract-suite.ts";

let directory: string;
let path: string;

/** Five keys at revision 9: two of one transaction, one with a time to live, one written twice. */
beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), "k8ts-snapshot-test-"));
  path = join(directory, "snapshot");
  using clock = new VirtualClock("2030-01-01T00:00:00Z");
  await using store = createMemoryStore({ clock });
  await store.put("/a", bytes("1"));
  await store.put("/a", bytes("2"));
  await store.transact([
    { op: "put", key: "/b", value: bytes("b") },
    { op: "put", key: "/c", value: bytes("c") },
  ]);
  await store.put("/ttl", bytes("t"), { ttlSeconds: 3600 });
  await store.put("/gone", bytes("x"));
  await store.delete("/gone");
  await store.put("/empty", new Uint8Array());
  await store.put("/a", bytes("3"));
  const summary = await store.snapshot(path);
  assert.equal(summary.revision, 9);
  assert.equal(summary.keys, 5);
});
afterAll(() => rmSync(directory, { recursive: true }));

const restorers = [
  {
    name: "memory",
    restore: (clock: VirtualClock): Promise<Store> => restoreMemoryStore(path, { clock }),
  },
  {
    name: "embedded",
    async restore(clock: VirtualClock): Promise<Store> {
      const target = join(directory, "restored");
      await restoreEmbeddedStore(path, target);
      await rejects(restoreEmbeddedStore(path, target), "InUse");
      return await openEmbeddedStore({ directory: target, clock });
    },
  },
];

for (const { name, restore } of restorers) {
  test(`snapshot: restored into ${name}, everything is as it was and goes on`, async () => {
    using clock = new VirtualClock("2030-01-01T00:30:00Z");
    await using store = await restore(clock);
    const { revision, entries } = await store.range("");
    assert.equal(revision, 9);
    assert.deepEqual(
      entries.map(({ key, value, createRevision, modRevision, version }) => {
        return [key, text(value), createRevision, modRevision, version];
      }),
      [
        ["/a", "3", 2, 9, 3],
        ["/b", "b", 4, 4, 1],
        ["/c", "c", 4, 4, 1],
        ["/empty", "", 8, 8, 1],
        ["/ttl", "t", 5, 5, 1],
      ],
    );
    await rejects(store.get("/a", { atRevision: 8 }), "Compacted");
    assert.deepEqual(await store.put("/a", bytes("4"), { expectRevision: 9 }), {
      ok: true,
      revision: 10,
    });
    assert.equal(text((await store.get("/a", { atRevision: 9 })).entry?.value), "3");
    await store.delete("/b", { expectRevision: 4 });
    await store.compact(11);
    assert.equal(await store.count(""), 4);
    await clock.advance(1_800_000);
    await store.transact([{ op: "check", key: "/none", mustNotExist: true }]);
    assert.equal((await store.get("/ttl")).entry, undefined, "its time is over");
  });
}

test("snapshot: only its owner can read it", () => {
  assert.equal(statSync(path).mode & 0o777, 0o600);
});

test("snapshot: no byte can be changed, cut off or added unnoticed", async () => {
  const sound = readFileSync(path);
  const broken = join(directory, "broken");
  const check = async (name: string, content: Buffer): Promise<void> => {
    writeFileSync(broken, content);
    const problem = await verifySnapshot(broken).then(
      () => assert.fail(`${name} went unnoticed`),
      (error: { problem?: { code: string } }) => error.problem,
    );
    assert.equal(problem?.code, "Corrupt", name);
  };
  for (let index = 0; index < sound.length; index++) {
    const content = Buffer.from(sound);
    content[index]! ^= 1 << (index % 8);
    await check(`a flipped bit at ${index}`, content);
  }
  for (let length = 0; length < sound.length; length += 7) {
    await check(`cut off at ${length}`, sound.subarray(0, length));
  }
  await check("an added byte", Buffer.concat([sound, Buffer.of(0)]));
  writeFileSync(broken, sound);
  await verifySnapshot(broken);
});

test("snapshot: one that is broken off leaves no file", async () => {
  using clock = new VirtualClock();
  await using store = createMemoryStore({ clock });
  await store.put("/a", bytes("1"));
  const target = join(directory, "aborted");
  await assert.rejects(store.snapshot(target, AbortSignal.abort(new Error("enough"))), /enough/);
  assert.throws(() => statSync(target));
  assert.throws(() => statSync(`${target}.partial`));
});
