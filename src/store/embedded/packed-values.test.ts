import assert from "node:assert/strict";
import { test } from "vitest";
import { PackedValues } from "./packed-values.ts";
import { RowEncoder } from "./row.ts";

function rowOf(value: Uint8Array): Uint8Array {
  const head = { key: "k", position: 1, createRevision: 1, version: 1, bytes: 1, expiresAtMs: 0 };
  const change = { ...head, value, deleted: false, previous: 0, committedAtMs: 5 };
  const [row] = new RowEncoder().encode([change]);
  return row!;
}

test("PackedValues: values are copies that share memory, large ones have their own", () => {
  const packed = new PackedValues();
  const memory = Buffer.alloc(100_000); // used again for each row, as LMDB does
  const copyOf = (text: string): Uint8Array => {
    const row = rowOf(Buffer.from(text));
    memory.set(row);
    const lent = memory.subarray(0, row.length);
    return packed.copyOf(lent);
  };
  const texts = [
    "a",
    "",
    "b".repeat(5_000),
    ..."c"
      .repeat(40)
      .split("")
      .map((c) => c.repeat(4_000)),
  ];
  const values = texts.map(copyOf);
  const large = copyOf("d".repeat(50_000));
  assert.deepEqual(
    values.map((value) => Buffer.from(value).toString()),
    texts,
  );
  assert.equal(values[0]!.buffer, values[2]!.buffer);
  assert.ok(
    new Set(values.map(({ buffer }) => buffer)).size > 1,
    "a full piece is followed by another",
  );
  assert.equal(large.buffer.byteLength, 50_000);
});
