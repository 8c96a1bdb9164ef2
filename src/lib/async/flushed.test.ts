import assert from "node:assert/strict";
import { Writable } from "node:stream";
import { test } from "vitest";
import { flushed } from "./flushed.ts";

const BYTES = new Uint8Array(4);

test("flushed: resolves when the bytes have left the stream, and leaves no listener", async () => {
  let release: (() => void) | undefined;
  const stream = new Writable({
    write: (_chunk, _encoding, done) => {
      release = done;
    },
  });
  let isDone = false;
  const waiting = flushed(stream, BYTES).then(() => {
    isDone = true;
  });
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(isDone, false);
  release?.();
  await waiting;
  assert.equal(stream.listenerCount("close"), 0);
});

test("flushed: resolves when the stream is destroyed, or was before", async () => {
  const stream = new Writable({ write: () => undefined });
  const waiting = flushed(stream, BYTES);
  stream.destroy();
  await waiting;
  await flushed(stream, BYTES);
});
