import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { nodeKind } from "#api/kinds/core/v1/node/node.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { nextTurn } from "#lib/async/next-turn.ts";
import { VirtualClock } from "#lib/time/virtual-clock.ts";
import { FanOut, FanOuts } from "./fan-out.ts";

const newFanOut = (): FanOut => new FanOut(new VirtualClock());

const frame = (text: string): Uint8Array => Buffer.from(text);

test("each watch flushes once, at the end of the turn, in the order of scheduling", async () => {
  const fanOut = newFanOut();
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

test("very many watches are flushed over several turns", async () => {
  const fanOut = newFanOut();
  let sent = 0;
  for (let n = 0; n < 1_200; n++) fanOut.schedule(() => (sent += 1));
  const turns: number[] = [];
  while (sent < 1_200) {
    await nextTurn();
    turns.push(sent);
  }
  assert.deepEqual(turns, [500, 1_000, 1_200]);
});

describe("watch cache: the pause after a fan-out", () => {
  const rows = [
    { name: "a few send again at once", watches: 19, restMs: 0 },
    { name: "many rest for as long as many are", watches: 100, restMs: 5 },
    { name: "very many rest no longer than 20 ms", watches: 5_000, restMs: 20 },
  ];
  for (const { name, watches, restMs } of rows) {
    test(name, async () => {
      using clock = new VirtualClock();
      const fanOut = new FanOut(clock);
      let sent = 0;
      for (let n = 0; n < watches; n++) fanOut.schedule(() => (sent += 1));
      while (sent < watches) await nextTurn();
      const again: string[] = [];
      fanOut.schedule(() => again.push("first"));
      await nextTurn();
      assert.deepEqual(again, restMs === 0 ? ["first"] : []);
      if (restMs === 0) return;
      await clock.advance(restMs - 1);
      fanOut.schedule(() => again.push("second"));
      await nextTurn();
      assert.deepEqual(again, []);
      await clock.advance(1);
      assert.deepEqual(again, ["first", "second"]);
    });
  }

  test("does not delay a single change that comes later", async () => {
    using clock = new VirtualClock();
    const fanOut = new FanOut(clock);
    let sent = 0;
    for (let n = 0; n < 200; n++) fanOut.schedule(() => (sent += 1));
    await nextTurn();
    await clock.advance(10);
    fanOut.schedule(() => (sent += 1));
    await nextTurn();
    assert.equal(sent, 201);
  });

  test("does not delay watches that are behind", async () => {
    using clock = new VirtualClock();
    const fanOut = new FanOut(clock);
    let [sent, caughtUp] = [0, 0];
    for (let n = 0; n < 200; n++) fanOut.schedule(() => (sent += 1));
    await nextTurn();
    const goOn = (): void => {
      caughtUp += 1;
      if (caughtUp < 3) fanOut.catchUp(goOn);
    };
    fanOut.catchUp(goOn);
    fanOut.schedule(() => (sent += 1));
    for (let n = 0; n < 3; n++) await nextTurn();
    assert.deepEqual([sent, caughtUp], [200, 3]);
    await clock.advance(10);
    assert.equal(sent, 201);
  });

  test("the fan-out of one kind does not delay another kind", async () => {
    using clock = new VirtualClock();
    const fanOuts = new FanOuts(clock);
    assert.equal(fanOuts.of(podKind), fanOuts.of(podKind));
    let sent = 0;
    for (let n = 0; n < 200; n++) fanOuts.of(podKind).schedule(() => (sent += 1));
    await nextTurn();
    fanOuts.of(nodeKind).schedule(() => (sent += 1));
    await nextTurn();
    assert.equal(sent, 201);
  });
});

test("watches that send the same frames in a turn share one chunk", async () => {
  const fanOut = newFanOut();
  const [a, b] = [frame("aa\n"), frame("b\n")];
  const chunks = new Map<string, unknown>();
  const sends: Record<string, Uint8Array[]> = { one: [a, b], two: [a, b], less: [a], later: [b] };
  for (const [name, frames] of Object.entries(sends)) {
    fanOut.schedule(() => chunks.set(name, fanOut.join(frames)));
  }
  await nextTurn();
  assert.equal(chunks.get("two"), chunks.get("one"));
  assert.equal(new Set(chunks.values()).size, 3);
});

test("watch cache: a joined chunk has the bytes of its frames, also in chunked transfer coding", () => {
  const { bytes, chunk } = newFanOut().join([frame("0123456789"), frame("abcdef\n")]);
  assert.equal(Buffer.from(bytes).toString(), "0123456789abcdef\n");
  assert.equal(Buffer.from(chunk).toString(), "11\r\n0123456789abcdef\n\r\n");
});
