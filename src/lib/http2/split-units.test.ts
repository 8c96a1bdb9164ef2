/** Property tests: however a stream of frames is cut into chunks, the same frames come out. */
import assert from "node:assert/strict";
import fc from "fast-check";
import { test } from "vitest";
import { FRAME_HEADER_BYTES, frame, frameLength, readFrameHeader } from "./frames.ts";
import { UnitSplitter } from "./split-units.ts";

interface Read {
  readonly type: number;
  readonly streamId: number;
  readonly payload: string;
}

function readFrames(chunks: readonly Buffer[]): { frames: Read[]; waitingBytes: number } {
  const frames: Read[] = [];
  const cutter = new UnitSplitter({
    headerBytes: FRAME_HEADER_BYTES,
    bodyLength: frameLength,
    take(bytes, offset, end) {
      const { type, streamId } = readFrameHeader(bytes, offset);
      const payload = bytes.toString("hex", offset + FRAME_HEADER_BYTES, end);
      frames.push({ type, streamId, payload });
    },
  });
  for (const chunk of chunks) cutter.push(chunk);
  return { frames, waitingBytes: cutter.waitingBytes };
}

const STREAM = Buffer.concat([
  frame(0, 0, 1, Buffer.from("abc")),
  frame(4, 0, 0, Buffer.alloc(0)),
  frame(1, 5, 3, Buffer.from("a longer header block of this stream")),
]);

test("UnitSplitter: frames that are cut at every byte, and at every two bytes, come out whole", () => {
  const whole = readFrames([STREAM]);
  assert.equal(whole.frames.length, 3);
  for (let first = 0; first <= STREAM.length; first++) {
    for (let second = first; second <= STREAM.length; second++) {
      const chunks = [
        STREAM.subarray(0, first),
        STREAM.subarray(first, second),
        STREAM.subarray(second),
      ];
      assert.deepEqual(readFrames(chunks), whole);
    }
  }
});

test("UnitSplitter: frames of any sizes come out whole however they are cut", () => {
  const anyFrame = fc.record({
    type: fc.nat(9),
    streamId: fc.nat(1_000),
    payload: fc.uint8Array({ maxLength: 200 }),
  });
  fc.assert(
    fc.property(fc.array(anyFrame), fc.array(fc.nat(50)), (frames, cuts) => {
      const bytes = Buffer.concat(
        frames.map(({ type, streamId, payload }) => frame(type, 0, streamId, payload)),
      );
      const chunks: Buffer[] = [];
      let offset = 0;
      for (const cut of cuts) {
        chunks.push(bytes.subarray(offset, offset + cut));
        offset += cut;
      }
      chunks.push(bytes.subarray(offset));
      const expected = frames.map(({ type, streamId, payload }) => ({
        type,
        streamId,
        payload: Buffer.from(payload).toString("hex"),
      }));
      assert.deepEqual(readFrames(chunks), { frames: expected, waitingBytes: 0 });
    }),
  );
});

test("UnitSplitter: an incomplete frame is kept, and no more than it", () => {
  const { frames, waitingBytes } = readFrames([STREAM.subarray(0, 15)]);
  assert.deepEqual([frames.length, waitingBytes], [1, 3]);
});
