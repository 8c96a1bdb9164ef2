import assert from "node:assert/strict";
import { test } from "vitest";
import { FrameChunk } from "../response/byte-chunk.ts";
import { MainThreadOutbox } from "./main-thread-outbox.ts";
import type { Batch, FromMainThread } from "./messages.ts";
import { unpack } from "./outbox.ts";

interface Sent {
  readonly outbox: MainThreadOutbox;
  readonly batches: Batch<FromMainThread>[];
  /** Sends what waits. */
  flush(): void;
}

function outbox(): Sent {
  const batches: Batch<FromMainThread>[] = [];
  let flush: (() => void) | undefined;
  const port = {
    postMessage: (batch: unknown) => void batches.push(batch as Batch<FromMainThread>),
  };
  return {
    outbox: new MainThreadOutbox(port, (scheduled) => {
      assert.equal(flush, undefined, "one flush for each batch");
      flush = scheduled;
    }),
    batches,
    flush: () => {
      flush?.();
      flush = undefined;
    },
  };
}

/** Messages with their bytes as text. */
function read(batch: Batch<FromMainThread>): unknown[] {
  const all: unknown[] = [];
  unpack(batch, (message, bytesAt) => {
    if (message.form === "chunk") all.push([message.id, bytesAt(message.bytes).toString()]);
    else if (message.form === "shared chunk")
      all.push([message.ids, bytesAt(message.chunk).toString()]);
    else all.push(message.form);
  });
  return all;
}

test("HTTP thread: messages of one go are one batch, in their order, with their bytes", () => {
  const { outbox: out, batches, flush } = outbox();
  out.put({ form: "chunk", id: 1, bytes: out.add(Buffer.from("one")) });
  out.put({ form: "chunk", id: 2, bytes: out.add(Buffer.from("two")) });
  out.put({ form: "end", id: 1 });
  flush();
  out.put({ form: "chunk", id: 2, bytes: out.add(Buffer.from("three")) });
  flush();
  assert.deepEqual(batches.map(read), [[[1, "one"], [2, "two"], "end"], [[2, "three"]]]);
});

test("HTTP thread: the same bytes travel once", () => {
  const { outbox: out, batches, flush } = outbox();
  const bytes = Buffer.from("shared");
  for (const id of [1, 2, 3]) out.put({ form: "chunk", id, bytes: out.add(bytes) });
  flush();
  assert.equal(batches[0]!.bytes.length, bytes.length);
  assert.deepEqual(
    read(batches[0]!),
    [1, 2, 3].map((id) => [id, "shared"]),
  );
});

test("outbox: chunks in shared memory are not copied", () => {
  const { outbox: out, batches, flush } = outbox();
  const bytes = Buffer.from(new SharedArrayBuffer(4)).fill("x");
  out.put({ form: "chunk", id: 1, bytes: out.add(bytes) });
  flush();
  bytes.fill("y");
  assert.equal(batches[0]!.bytes.length, 0);
  assert.deepEqual(read(batches[0]!), [[1, "yyyy"]]);
});

test("HTTP thread: a chunk for many responses is one message, and messages keep their order", () => {
  const { outbox: out, batches, flush } = outbox();
  const shared = new FrameChunk([Buffer.from("event")]);
  const chunk = "5\r\nevent\r\n";
  out.putChunk(1, shared);
  out.putChunk(2, shared);
  out.put({ form: "start", id: 3, code: 200, headers: {} });
  out.putChunk(3, shared);
  flush();
  out.putChunk(1, shared);
  flush();
  assert.deepEqual(batches.map(read), [[[[1, 2], chunk], "start", [[3], chunk]], [[[1], chunk]]]);
});
