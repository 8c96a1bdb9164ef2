import assert from "node:assert/strict";
import { test } from "vitest";
import { nextTurn } from "#lib/next-turn.ts";
import { FanOut } from "./fan-out.ts";

const frame = (text: string): Uint8Array => Buffer.from(text);

test("everyone sends once, after what else is done in the turn, in the order of asking", async () => {
  const fanOut = new FanOut();
  const order: string[] = [];
  for (const name of ["a", "b"]) fanOut.schedule(() => order.push(name));
  void Promise.resolve().then(() => order.push("answer"));
  await nextTurn();
  assert.deepEqual(order, ["answer", "a", "b"]);
  fanOut.schedule(() => fanOut.schedule(() => order.push("again")));
  await nextTurn();
  await nextTurn();
  assert.deepEqual(order, ["answer", "a", "b", "again"]);
});

test("very many do not send all in one turn", async () => {
  const fanOut = new FanOut();
  let sent = 0;
  for (let n = 0; n < 1_200; n++) fanOut.schedule(() => (sent += 1));
  const turns: number[] = [];
  while (sent < 1_200) {
    await nextTurn();
    turns.push(sent);
  }
  assert.deepEqual(turns, [500, 1_000, 1_200]);
});

test("the same frames are one piece for all who send in a turn, other frames are another", async () => {
  const fanOut = new FanOut();
  const [a, b] = [frame("aa\n"), frame("b\n")];
  const pieces = new Map<string, unknown>();
  const sends: Record<string, Uint8Array[]> = { one: [a, b], two: [a, b], less: [a], later: [b] };
  for (const [name, frames] of Object.entries(sends)) {
    fanOut.schedule(() => pieces.set(name, fanOut.join(frames)));
  }
  await nextTurn();
  assert.equal(pieces.get("two"), pieces.get("one"));
  assert.equal(new Set(pieces.values()).size, 3);
});

test("a piece is its frames, and a chunk of HTTP/1.1", () => {
  const { bytes, chunk } = new FanOut().join([frame("0123456789"), frame("abcdef\n")]);
  assert.equal(Buffer.from(bytes).toString(), "0123456789abcdef\n");
  assert.equal(Buffer.from(chunk).toString(), "11\r\n0123456789abcdef\n\r\n");
});
