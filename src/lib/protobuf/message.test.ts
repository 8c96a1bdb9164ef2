import assert from "node:assert/strict";
import { test } from "vitest";
import { seededRandom } from "#lib/random.ts";
import { COMPARE, TARGET, txn, watch } from "#store/etcd/rpc.ts";
import { defineMessage, message } from "./message.ts";

interface Sample {
  small: number;
  big: number;
  id: bigint;
  flag: boolean;
  blob: Uint8Array;
  name: string;
  inner: { value: number } | undefined;
  many: { value: number }[];
}
const inner = defineMessage<{ value: number }>({ value: [1, "int"] });
const sample = defineMessage<Sample>({
  small: [1, "int"],
  big: [2, "int"],
  id: [3, "int64"],
  flag: [4, "bool"],
  blob: [5, "bytes"],
  name: [6, "text"],
  inner: [7, { one: inner }],
  many: [16, { many: inner }],
});

test("protobuf message: a message reads as it was written", () => {
  const message: Sample = {
    small: 1,
    big: Number.MAX_SAFE_INTEGER,
    id: -(2n ** 63n),
    flag: true,
    blob: Buffer.from([0, 255, 128]),
    name: "prä\u{1f600}",
    inner: { value: -1 },
    many: [{ value: 300 }, { value: 0 }],
  };
  const read = sample.decode(sample.encode(message));
  assert.deepEqual({ ...read, blob: Buffer.from(read.blob) }, message);
});

test("protobuf message: what is absent reads as zero, and zeros are not written", () => {
  const zero = sample.decode(Buffer.alloc(0));
  assert.deepEqual([zero.small, zero.id, zero.flag, zero.name], [0, 0n, false, ""]);
  assert.deepEqual([zero.inner, zero.many, zero.blob.length], [undefined, [], 0]);
  assert.equal(sample.encode(zero).length, 0);
});

test("protobuf message: the bytes are those of the protocol", () => {
  const rows: [name: string, bytes: Buffer, hex: string][] = [
    [
      "create a watch",
      watch.request.encode({ create: { key: Buffer.from("a"), startRevision: 300, prevKv: true } }),
      "0a08" + "0a0161" + "18ac02" + "3001",
    ],
    [
      "write if absent",
      txn.request.encode({
        compare: [
          {
            key: "k",
            target: TARGET.modRevision,
            result: COMPARE.equal,
            modRevision: 0,
          },
        ],
        success: [{ put: { key: "k", value: Buffer.from("v") } }],
        failure: [{ range: { key: "k" } }],
      }),
      "0a05" +
        "1002" +
        "1a016b" +
        "1208" +
        "1206" +
        "0a016b" +
        "120176" +
        "1a05" +
        "0a03" +
        "0a016b",
    ],
  ];
  for (const [name, bytes, hex] of rows) assert.equal(bytes.toString("hex"), hex, name);
});

test("protobuf message: unknown fields of every wire type are skipped", () => {
  const unknown = Buffer.from(
    `${"f80101"}${"f90101020304050607 08"}${"fa01020102"}${"fd0101020304"}`.replaceAll(" ", ""),
    "hex",
  );
  const bytes = Buffer.concat([unknown, sample.encode({ small: 7 }), unknown]);
  assert.equal(sample.decode(bytes).small, 7);
});

test("protobuf message: broken bytes are refused, never read beyond their end", () => {
  const random = seededRandom(1);
  const whole = sample.encode({ big: 1e15, blob: Buffer.alloc(20), many: [{ value: 5 }] });
  for (let length = 1; length < whole.length; length++) {
    try {
      sample.decode(whole.subarray(0, length));
    } catch (error) {
      assert.ok(error instanceof RangeError, `${error}`);
    }
  }
  for (let round = 0; round < 2_000; round++) {
    const noise = Buffer.from(Array.from({ length: 40 }, () => random.integer(256)));
    try {
      sample.decode(noise);
    } catch (error) {
      assert.ok(error instanceof RangeError, `${error}`);
    }
  }
});

test("protobuf message: message: repeated scalars, maps and doubles read as they were written", () => {
  const metadata = message({ name: [1, "text"], attempt: [2, "int"] });
  const config = message({
    metadata: [1, { one: metadata }],
    groups: [2, { list: "int" }],
    command: [3, { list: "text" }],
    labels: [4, { map: "text" }],
    average: [5, "double"],
    items: [6, { many: metadata }],
  });
  const value = {
    metadata: { name: "a", attempt: 1 },
    groups: [0, 1, 65_534],
    command: ["sh", "", "-c"],
    labels: { app: "web", empty: "" },
    average: 0.25,
    items: [{ name: "b", attempt: 0 }],
  };
  const read = config.decode(config.encode(value));
  assert.deepEqual({ ...read, labels: { ...read.labels } }, value);
  assert.equal(config.encode({}).length, 0);
  assert.deepEqual(config.decode(Buffer.from("10051006", "hex")).groups, [5, 6]);
});

test("protobuf message: a message that is larger than the writer's room, and the ones after it, are whole", () => {
  for (const length of [10, 5_000, 300_000, 10]) {
    const blob = Buffer.alloc(length, length % 251);
    const read = sample.decode(sample.encode({ small: 3, blob, many: [{ value: 1 }] }));
    assert.deepEqual([read.small, read.many, blob.equals(read.blob)], [3, [{ value: 1 }], true]);
  }
});

test("protobuf message: what an encoder had written when it threw is not in the next message", () => {
  // The encoder must fail on a value that its type forbids.
  const wrong = { name: "left", id: "no number" } as unknown as Partial<Sample>;
  assert.throws(() => sample.encode(wrong));
  assert.deepEqual(sample.encode({ flag: true }).toString("hex"), "2001");
});

test("protobuf message: a field of another wire type than the known one is skipped", () => {
  const read = sample.decode(Buffer.from(`${"0a0161"}${"2805"}${"3801"}${"2001"}`, "hex"));
  assert.deepEqual([read.small, read.blob.length, read.inner, read.flag], [0, 0, undefined, true]);
});
