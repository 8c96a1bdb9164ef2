import assert from "node:assert/strict";
import { gunzipSync } from "node:zlib";
import fc from "fast-check";
import { test } from "vitest";
import { EMPTY_PIECE, gzipPiece, joinGzip, unpackedLength } from "./gzip-pieces.ts";

test("joined gzip pieces unpack to their contents in order, with the right checksum", async () => {
  const contents = fc.array(fc.oneof(fc.string({ unit: "grapheme" }), fc.uint8Array()));
  await fc.assert(
    fc.asyncProperty(contents, async (parts) => {
      const joined = joinGzip(await Promise.all(parts.map(gzipPiece)));
      const want = Buffer.concat(parts.map((part) => Buffer.from(part as Uint8Array)));
      assert.deepEqual(gunzipSync(joined), want);
      assert.equal(unpackedLength(joined), want.length);
    }),
  );
});

test("joined gzip pieces: large pieces, one piece several times, nothing", async () => {
  const large = "0123456789".repeat(200_000);
  const piece = await gzipPiece(large);
  assert.ok(piece.deflated.length < large.length / 50);
  const joined = joinGzip([piece, EMPTY_PIECE, await gzipPiece(","), piece]);
  assert.equal(gunzipSync(joined).toString(), `${large},${large}`);
  assert.equal(gunzipSync(joinGzip([])).length, 0);
});
