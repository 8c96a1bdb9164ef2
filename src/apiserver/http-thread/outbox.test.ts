import assert from "node:assert/strict";
import { test } from "vitest";
import { Piece } from "../response/byte-chunk.ts";
import { CoreOutbox } from "./main-thread-outbox.ts";
import type { Batch, FromCore } from "./messages.ts";
import { unpack } from "./outbox.ts";

interface Sent {
  readonly outbox: CoreOutbox;
  readonly batches: Batch<FromCore>[];
  /** Sends what waits. */
  flush(): void;
}

function outbox(): Sent {
  const batches: Batch<FromCore>[] = [];
  let flush: (() => void) | undefined;
  const port = { postMessage: (batch: unknown) => void batches.push(batch as Batch<FromCore>) };
  return {
    outbox: new CoreOutbox(port, (scheduled) => {
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
function read(batch: Batch<FromCore>): unknown[] {
  const all: unknown[] = [];
  unpack(batch, (message, bytesAt) => {
    if (message.form === "chunk") all.push([message.id, bytesAt(message.bytes).toString()]);
    else if (message.form === "piece") all.push([message.ids, bytesAt(message.chunk).toString()]);
    else all.push(message.form);
  });
  return all;
}

test("messages of one go are one batch, in their order, with their bytes", () => {
  const { outbox: out, batches, flush } = outbox();
  out.put({ form: "chunk", id: 1, bytes: out.add(Buffer.from("one")) });
  out.put({ form: "chunk", id: 2, bytes: out.add(Buffer.from("two")) });
  out.put({ form: "end", id: 1 });
  flush();
  out.put({ form: "chunk", id: 2, bytes: out.add(Buffer.from("three")) });
  flush();
  assert.deepEqual(batches.map(read), [[[1, "one"], [2, "two"], "end"], [[2, "three"]]]);
});

test("the same bytes travel once", () => {
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

test("shared memory is not copied", () => {
  const { outbox: out, batches, flush } = outbox();
  const bytes = Buffer.from(new SharedArrayBuffer(4)).fill("x");
  out.put({ form: "chunk", id: 1, bytes: out.add(bytes) });
  flush();
  bytes.fill("y");
  assert.equal(batches[0]!.bytes.length, 0);
  assert.deepEqual(read(batches[0]!), [[1, "yyyy"]]);
});

test("a piece for many is one message, but overtakes nothing", () => {
  const { outbox: out, batches, flush } = outbox();
  const piece = new Piece([Buffer.from("event")]);
  const chunk = "5\r\nevent\r\n";
  out.putPiece(1, piece);
  out.putPiece(2, piece);
  out.put({ form: "start", id: 3, code: 200, headers: {} });
  out.putPiece(3, piece);
  flush();
  out.putPiece(1, piece);
  flush();
  assert.deepEqual(batches.map(read), [[[[1, 2], chunk], "start", [[3], chunk]], [[[1], chunk]]]);
});
