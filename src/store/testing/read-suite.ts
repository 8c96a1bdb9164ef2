/** The contract's promises about reads. */
import assert from "node:assert/strict";
import { test } from "vitest";
import type { Store } from "#store/contract.ts";
import { bytes, type OpenSubject, rejects, text } from "./contract-suite.ts";

export function describeReads(open: OpenSubject): void {
  test("an entry has its value, revisions and version", async () => {
    await using subject = await open();
    const { store, prefix } = subject;
    const key = `${prefix}a`;
    const base = await store.currentRevision();
    assert.deepEqual(await store.get(key), { revision: base, entry: undefined });

    await store.put(key, bytes("1"));
    await store.put(key, bytes("2"));
    const { revision, entry } = await store.get(key);
    assert.equal(revision, base + 2);
    assert.deepEqual(
      { ...entry, value: text(entry?.value) },
      { key, value: "2", createRevision: base + 1, modRevision: base + 2, version: 2 },
    );

    await store.delete(key);
    await store.put(key, bytes("3"));
    const again = (await store.get(key)).entry;
    assert.equal(again?.createRevision, base + 4, "a delete ends what was created");
    assert.equal(again?.version, 1);
  });

  test("get: an empty value is a value", async () => {
    await using subject = await open();
    const { store, prefix } = subject;
    await store.put(`${prefix}a`, new Uint8Array());
    assert.equal((await store.get(`${prefix}a`)).entry?.value.length, 0);
  });

  test("get: bytes come back as they were written", async () => {
    await using subject = await open();
    const { store, prefix } = subject;
    const value = Uint8Array.from({ length: 70_000 }, (_, index) => (index * 7) % 256);
    await store.put(`${prefix}a`, value);
    const read = (await store.get(`${prefix}a`)).entry?.value;
    assert.ok(read !== undefined && Buffer.from(value).equals(read));
  });

  test("every revision of a key can be read", async () => {
    await using subject = await open();
    const { store, prefix } = subject;
    const key = `${prefix}a`;
    const base = await store.currentRevision();
    await store.put(key, bytes("1"));
    await store.put(`${prefix}b`, bytes("x"));
    await store.put(key, bytes("2"));
    await store.delete(key);
    await store.put(key, bytes("3"));
    const values: (string | undefined)[] = [];
    for (let revision = base; revision <= base + 5; revision++) {
      const answer = await store.get(key, { atRevision: revision });
      assert.equal(answer.entry === undefined || answer.entry.modRevision <= revision, true);
      values.push(text(answer.entry?.value));
    }
    assert.deepEqual(values, [undefined, "1", "1", "2", undefined, "3"]);
  });

  test("a range is in the order of UTF-8 bytes and stays under its prefix", async () => {
    await using subject = await open();
    const { store, prefix } = subject;
    const names = ["a", "a/b", "ab", "b", "ä", "\uffee", "\u{1f600}", "~", "-", "A", "a-b"];
    for (const name of names) await store.put(`${prefix}k/${name}`, bytes(name));
    await store.put(`${prefix}j`, bytes("before"));
    await store.put(`${prefix}k`, bytes("no slash"));
    await store.put(`${prefix}k0`, bytes("behind"));
    const sorted = names.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
    const { entries, remaining } = await store.range(`${prefix}k/`);
    assert.deepEqual(
      entries.map(({ value }) => text(value)),
      sorted,
    );
    assert.equal(remaining, 0);
    assert.deepEqual(
      entries.map(({ key }) => key),
      sorted.map((name) => `${prefix}k/${name}`),
    );
    assert.equal(await store.count(`${prefix}k/`), names.length);
    assert.equal(await store.count(`${prefix}nothing/`), 0);
  });

  test("the pages of a listing are read at one revision, whatever happens meanwhile", async () => {
    await using subject = await open();
    const { store, prefix } = subject;
    for (let index = 10; index < 35; index++) await store.put(`${prefix}${index}`, bytes("old"));
    const first = await store.range(prefix, { limit: 10 });
    assert.equal(first.remaining, 15);
    await store.delete(`${prefix}25`);
    await store.put(`${prefix}26`, bytes("new"));
    await store.put(`${prefix}265`, bytes("new"));
    await store.delete(`${prefix}27`);
    await store.put(`${prefix}27`, bytes("new"));

    const seen = first.entries.map(({ key }) => key);
    let remaining = first.remaining;
    while (remaining > 0) {
      const startAfter = seen.at(-1)!;
      const options = { limit: 10, atRevision: first.revision, startAfter };
      const page = await store.range(prefix, options);
      assert.equal(page.revision, first.revision);
      assert.equal(page.remaining, remaining - page.entries.length);
      for (const { key, value } of page.entries) {
        seen.push(key);
        assert.equal(text(value), "old", key);
      }
      remaining = page.remaining;
    }
    assert.deepEqual(
      seen,
      Array.from({ length: 25 }, (_, index) => `${prefix}${index + 10}`),
    );
    assert.equal(await store.count(prefix, { atRevision: first.revision }), 25);
    assert.equal(await store.count(prefix), 25);
  });

  test("store range with keysOnly: no values are returned", async () => {
    await using subject = await open();
    const { store, prefix } = subject;
    await store.put(`${prefix}a`, bytes("1"));
    await store.put(`${prefix}a`, bytes("2"));
    const before = await store.currentRevision();
    await store.put(`${prefix}a`, bytes("3"));
    for (const atRevision of [before, before + 1]) {
      const { entries } = await store.range(prefix, { keysOnly: true, atRevision });
      assert.equal(entries[0]?.value.length, 0);
      assert.equal(entries[0]?.version, atRevision === before ? 2 : 3);
    }
  });

  test("a limit of all there is leaves nothing over", async () => {
    await using subject = await open();
    const { store, prefix } = subject;
    for (const name of ["a", "b", "c"]) await store.put(prefix + name, bytes(name));
    const rows: [limit: number, startAfter: string | undefined, keys: string, remaining: number][] =
      [
        [3, undefined, "abc", 0],
        [2, undefined, "ab", 1],
        [4, undefined, "abc", 0],
        [2, `${prefix}a`, "bc", 0],
        [1, `${prefix}a`, "b", 1],
        [1, `${prefix}aa`, "b", 1],
        [1, `${prefix}c`, "", 0],
      ];
    for (const [limit, startAfter, keys, remaining] of rows) {
      const answer = await store.range(
        prefix,
        startAfter === undefined ? { limit } : { limit, startAfter },
      );
      const found = answer.entries.map(({ value }) => text(value)).join("");
      assert.deepEqual(
        [found, answer.remaining],
        [keys, remaining],
        `${limit} after ${startAfter}`,
      );
    }
  });

  test("a revision that does not exist yet cannot be read", async () => {
    await using subject = await open();
    const { store, prefix } = subject;
    const atRevision = (await store.currentRevision()) + 1;
    for (const read of readsOf(store, prefix, atRevision)) await rejects(read(), "FutureRevision");
    await rejects(store.compact(atRevision), "FutureRevision");
  });

  test("what was compacted cannot be read; the compacted revision can", async () => {
    await using subject = await open();
    const { store, prefix } = subject;
    const key = `${prefix}a`;
    await store.put(key, bytes("1"));
    await store.put(`${prefix}b`, bytes("1"));
    await store.put(key, bytes("2"));
    await store.delete(`${prefix}b`);
    const compacted = await store.currentRevision();
    await store.put(key, bytes("3"));
    await store.compact(compacted);
    for (const read of readsOf(store, prefix, compacted - 1)) {
      const problem = await rejects(read(), "Compacted");
      assert.equal(problem.compactRevision, compacted);
    }
    assert.equal(text((await store.get(key, { atRevision: compacted })).entry?.value), "2");
    assert.equal(text((await store.get(key)).entry?.value), "3");
    assert.equal((await store.get(`${prefix}b`, { atRevision: compacted })).entry, undefined);
    assert.equal(await store.count(prefix, { atRevision: compacted }), 1);
    await store.compact(compacted); // again is allowed,
    await store.compact(compacted - 1); // and so is less
    assert.equal((await store.range(prefix)).entries.length, 1);
  });
}

function readsOf(store: Store, prefix: string, atRevision: number): (() => Promise<unknown>)[] {
  return [
    () => store.get(`${prefix}a`, { atRevision }),
    () => store.range(prefix, { atRevision }),
    () => store.count(prefix, { atRevision }),
  ];
}
