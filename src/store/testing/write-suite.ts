/** The contract's promises about writes. */
import assert from "node:assert/strict";
import { test } from "vitest";
import {
  KEY_BYTES_MAX,
  OPERATIONS_MAX,
  type Operation,
  VALUE_BYTES_MAX,
  type WriteAnswer,
} from "#store/contract.ts";
import { bytes, type OpenSubject, rejects, text } from "./contract-suite.ts";

export function describeWrites(open: OpenSubject): void {
  test("each committed write makes the next revision, a refused one makes none", async () => {
    await using subject = await open();
    const { store, prefix } = subject;
    const base = await store.currentRevision();
    const outcomes = [
      await store.put(`${prefix}a`, bytes("1")),
      await store.put(`${prefix}a`, bytes("2"), { mustNotExist: true }),
      await store.put(`${prefix}a`, bytes("2")),
      await store.delete(`${prefix}b`),
      await store.delete(`${prefix}a`),
      await store.transact([
        { op: "put", key: `${prefix}x`, value: bytes("1") },
        { op: "put", key: `${prefix}y`, value: bytes("1") },
      ]),
    ];
    assert.deepEqual(
      outcomes.map(({ ok, revision }) => [ok, revision - base]),
      [
        [true, 1],
        [false, 1],
        [true, 2],
        [false, 2],
        [true, 3],
        [true, 4],
      ],
    );
    assert.equal(await store.currentRevision(), base + 4);
  });

  test("expectRevision: a write whose condition does not hold answers the current entry", async () => {
    await using subject = await open();
    const { store, prefix } = subject;
    const key = `${prefix}a`;
    const base = await store.currentRevision();
    const nothing: [string, WriteAnswer][] = [
      ["put expecting a revision", await store.put(key, bytes("x"), { expectRevision: base })],
      ["delete", await store.delete(key)],
      ["delete expecting a revision", await store.delete(key, { expectRevision: base })],
    ];
    for (const [name, answer] of nothing) {
      assert.deepEqual(answer, { ok: false, revision: base, current: undefined }, name);
    }

    await store.put(key, bytes("1"), { mustNotExist: true });
    await store.put(key, bytes("2"), { expectRevision: base + 1 });
    const stale: [string, WriteAnswer][] = [
      ["put that must not exist", await store.put(key, bytes("x"), { mustNotExist: true })],
      ["put expecting a revision", await store.put(key, bytes("x"), { expectRevision: base + 1 })],
      ["put expecting the future", await store.put(key, bytes("x"), { expectRevision: base + 9 })],
      ["delete expecting a revision", await store.delete(key, { expectRevision: base + 1 })],
    ];
    for (const [name, answer] of stale) {
      assert.ok(!answer.ok, name);
      assert.equal(answer.revision, base + 2, name);
      assert.deepEqual(
        { ...answer.current, value: text(answer.current?.value) },
        { key, value: "2", createRevision: base + 1, modRevision: base + 2, version: 2 },
        name,
      );
    }
    assert.equal((await store.delete(key, { expectRevision: base + 2 })).ok, true);
    assert.equal((await store.put(key, bytes("3"), { mustNotExist: true })).ok, true);
  });

  test("transact (etcd Txn): a transaction is carried out as a whole or not at all", async () => {
    await using subject = await open();
    const { store, prefix } = subject;
    const base = await store.currentRevision();
    await store.put(`${prefix}a`, bytes("1"));
    await store.put(`${prefix}b`, bytes("1"));
    const refused = await store.transact([
      { op: "put", key: `${prefix}a`, value: bytes("2"), expectRevision: base + 1 },
      { op: "delete", key: `${prefix}b`, expectRevision: base + 1 },
      { op: "check", key: `${prefix}c`, expectRevision: base },
      { op: "put", key: `${prefix}d`, value: bytes("1"), mustNotExist: true },
    ]);
    assert.ok(!refused.ok);
    assert.deepEqual(
      refused.conflicts.map(({ index, current }) => [index, text(current?.value)]),
      [
        [1, "1"],
        [2, undefined],
      ],
    );
    assert.deepEqual(
      (await store.range(prefix)).entries.map(({ value }) => text(value)),
      ["1", "1"],
    );

    const done = await store.transact([
      { op: "put", key: `${prefix}a`, value: bytes("2"), expectRevision: base + 1 },
      { op: "delete", key: `${prefix}b`, expectRevision: base + 2 },
      { op: "check", key: `${prefix}c`, mustNotExist: true },
      { op: "put", key: `${prefix}d`, value: bytes("4"), mustNotExist: true },
    ]);
    assert.deepEqual(done, { ok: true, revision: base + 3 });
    const { entries } = await store.range(prefix);
    assert.deepEqual(
      entries.map(({ key, value, modRevision }) => [key, text(value), modRevision]),
      [
        [`${prefix}a`, "2", base + 3],
        [`${prefix}d`, "4", base + 3],
      ],
    );
  });

  test("a transaction of checks alone makes no revision", async () => {
    await using subject = await open();
    const { store, prefix } = subject;
    const base = await store.currentRevision();
    const check = { op: "check", key: `${prefix}a` } as const;
    assert.deepEqual(await store.transact([{ ...check, mustNotExist: true }]), {
      ok: true,
      revision: base,
    });
    assert.equal((await store.transact([{ ...check, expectRevision: base }])).ok, false);
    assert.equal(await store.currentRevision(), base);
  });

  test("store transact: a transaction of OPERATIONS_MAX operations is accepted", async () => {
    await using subject = await open();
    const { store, prefix } = subject;
    const operations = Array.from({ length: OPERATIONS_MAX }, (_, index): Operation => {
      return { op: "put", key: `${prefix}${index}`, value: bytes(`${index}`) };
    });
    assert.equal((await store.transact(operations)).ok, true);
    assert.equal(await store.count(prefix), OPERATIONS_MAX);
    const { entry } = await store.get(`${prefix}${OPERATIONS_MAX - 1}`);
    assert.equal(text(entry?.value), `${OPERATIONS_MAX - 1}`);
  });

  test("what is beyond the limits is refused and changes nothing", async () => {
    await using subject = await open();
    const { store, prefix, valueBytesMax = VALUE_BYTES_MAX } = subject;
    const base = await store.currentRevision();
    const value = bytes("1");
    const put = (key: string): Operation => ({ op: "put", key, value });
    await rejects(store.put(`${prefix}a`, new Uint8Array(valueBytesMax + 1)), "TooLarge");
    await rejects(store.put(`${prefix}${"ä".repeat(KEY_BYTES_MAX / 2)}`, value), "TooLarge");
    const many = Array.from({ length: OPERATIONS_MAX + 1 }, (_, index) => put(`${prefix}${index}`));
    await rejects(store.transact(many), "TooLarge");
    await assert.rejects(store.put("", value), RangeError);
    await assert.rejects(store.transact([]), RangeError);
    await assert.rejects(store.transact([put(`${prefix}a`), put(`${prefix}a`)]), RangeError);
    await assert.rejects(store.put(`${prefix}a`, value, { ttlSeconds: 0 }), RangeError);
    const both = { mustNotExist: true, expectRevision: 3 };
    await assert.rejects(store.put(`${prefix}a`, value, both), RangeError);
    assert.equal(await store.currentRevision(), base);
    const widest = prefix + "k".repeat(KEY_BYTES_MAX - prefix.length);
    assert.equal((await store.put(widest, new Uint8Array(valueBytesMax))).ok, true);
    assert.equal((await store.get(widest)).entry?.value.length, valueBytesMax);
  });

  test("expectRevision: concurrent writers of a key lose no increment", async () => {
    await using subject = await open();
    const { store, prefix } = subject;
    const key = `${prefix}counter`;
    const [writers, increments] = [8, 10];
    await store.put(key, bytes("0"));
    await Promise.all(
      Array.from({ length: writers }, async () => {
        let current = (await store.get(key)).entry;
        for (let done = 0; done < increments; ) {
          const next = bytes(`${Number(text(current?.value)) + 1}`);
          const answer = await store.put(key, next, { expectRevision: current!.modRevision });
          if (answer.ok) done += 1;
          current = answer.ok ? (await store.get(key)).entry : answer.current;
        }
      }),
    );
    const { entry } = await store.get(key);
    assert.equal(text(entry?.value), `${writers * increments}`);
    assert.equal(entry?.version, writers * increments + 1);
  });

  test("writes handed in together get each their own revision, in order", async () => {
    await using subject = await open();
    const { store, prefix } = subject;
    const base = await store.currentRevision();
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, index) => store.put(`${prefix}${index}`, bytes("1"))),
    );
    const revisions = answers.map(({ revision }) => revision - base).toSorted((a, b) => a - b);
    assert.deepEqual(
      revisions,
      Array.from({ length: 50 }, (_, index) => index + 1),
    );
  });
}
