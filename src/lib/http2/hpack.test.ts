/** HPACK: examples of RFC 7541 (appendix C) and blocks that are cut, too long or wrong. */
import assert from "node:assert/strict";
import { test } from "vitest";
import { HEADER_LIST_BYTES_MAX, HpackDecoder } from "./hpack-decoder.ts";
import { encodeHeaders } from "./hpack-encode.ts";
import type { HeaderField } from "./hpack-static-table.ts";
import { Http2Error } from "./http2-error.ts";

const REQUESTS: readonly HeaderField[][] = [
  [
    [":method", "GET"],
    [":scheme", "http"],
    [":path", "/"],
    [":authority", "www.example.com"],
  ],
  [
    [":method", "GET"],
    [":scheme", "http"],
    [":path", "/"],
    [":authority", "www.example.com"],
    ["cache-control", "no-cache"],
  ],
  [
    [":method", "GET"],
    [":scheme", "https"],
    [":path", "/index.html"],
    [":authority", "www.example.com"],
    ["custom-key", "custom-value"],
  ],
];

const BLOCKS = [
  {
    name: "literals (C.3)",
    blocks: [
      "828684410f7777772e6578616d706c652e636f6d",
      "828684be58086e6f2d6361636865",
      "828785bf400a637573746f6d2d6b65790c637573746f6d2d76616c7565",
    ],
  },
  {
    name: "Huffman codes (C.4)",
    blocks: [
      "828684418cf1e3c2e5f23a6ba0ab90f4ff",
      "828684be5886a8eb10649cbf",
      "828785bf408825a849e95ba97d7f8925a849e95bb8e8b4bf",
    ],
  },
];

for (const { name, blocks } of BLOCKS) {
  test(`HPACK decodes requests with ${name} and the dynamic table`, () => {
    const decoder = new HpackDecoder();
    const decoded = blocks.map((block) => decoder.decode(Buffer.from(block, "hex")));
    assert.deepEqual(decoded, REQUESTS);
  });
}

test("HPACK evicts the oldest fields of the dynamic table", () => {
  const decoder = new HpackDecoder();
  // The table shrinks to 64 bytes: "a: b" (34 bytes) has no room beside "c: d".
  decoder.decode(Buffer.from("3f2140016101624001630164", "hex"));
  assert.deepEqual(decoder.decode(Buffer.of(0x80 | 62)), [["c", "d"]]);
  assert.throws(() => decoder.decode(Buffer.of(0x80 | 63)), /there is no field 63/);
});

test("HPACK encodes a block that its decoder reads, names and values of any length", () => {
  const fields: HeaderField[] = [
    [":method", "POST"],
    [":path", "/etcdserverpb.KV/Txn"],
    ["te", "trailers"],
    ["long", "x".repeat(5_000)],
    ["empty", ""],
  ];
  assert.deepEqual(new HpackDecoder().decode(encodeHeaders(fields)), fields);
});

test("HPACK refuses blocks that are cut short, at every byte", () => {
  const block = Buffer.from("408825a849e95ba97d7f8925a849e95bb8e8b4bf", "hex");
  for (let length = 1; length < block.length; length++) {
    assert.throws(() => new HpackDecoder().decode(block.subarray(0, length)), Http2Error);
  }
});

const INVALID = [
  { name: "field 0", block: "80", message: /there is no field 0/ },
  { name: "a table larger than was offered", block: "3fe2ff03", message: /was not offered/ },
  { name: "a size update after a field", block: "8220", message: /after a field/ },
  { name: "a number without end", block: "ffffffffffffffff", message: /too large/ },
  { name: "Huffman padding of zeros", block: "0081000161", message: /padding/ },
  { name: "Huffman padding of eight ones", block: "0082ffff0161", message: /padding/ },
  { name: "the Huffman code that ends a string", block: "0084fffffffc0161", message: /the end/ },
];

for (const { name, block, message } of INVALID) {
  test(`HPACK refuses ${name}`, () => {
    assert.throws(() => new HpackDecoder().decode(Buffer.from(block, "hex")), message);
  });
}

test("HPACK refuses more headers than HEADER_LIST_BYTES_MAX, however small the block", () => {
  const decoder = new HpackDecoder();
  decoder.decode(encodeIndexed("name", "v".repeat(1_000)));
  const bomb = Buffer.alloc(HEADER_LIST_BYTES_MAX / 1_000 + 1, 0x80 | 62);
  assert.throws(() => decoder.decode(bomb), /too long/);
});

function encodeIndexed(name: string, value: string): Buffer {
  const plain = encodeHeaders([[name, value]]);
  plain[0] = 0x40;
  return plain;
}
