import assert from "node:assert/strict";
import { test } from "vitest";
import { BoundedQueue } from "./bounded-queue.ts";

test("BoundedQueue: a full queue takes nothing and keeps its order", async () => {
  const queue = new BoundedQueue<number>(2);
  assert.deepEqual([queue.offer(1), queue.offer(2), queue.offer(3)], [true, true, false]);
  assert.deepEqual([await queue.take(), await queue.take()], [1, 2]);
  assert.ok(queue.offer(4));
});

test("waiting readers are served in order, without the limit counting", async () => {
  const queue = new BoundedQueue<number>(1);
  const readers = Promise.all([queue.take(), queue.take(), queue.take()]);
  for (const item of [1, 2, 3]) assert.ok(queue.offer(item));
  assert.deepEqual(await readers, [1, 2, 3]);
});

test("BoundedQueue: a reader that gives up loses nothing for the next", async () => {
  const queue = new BoundedQueue<number>(1);
  const controller = new AbortController();
  const gaveUp = assert.rejects(queue.take(controller.signal), /enough/);
  const next = queue.take();
  controller.abort(new Error("enough"));
  await gaveUp;
  queue.offer(1);
  assert.equal(await next, 1);
});

test("BoundedQueue: close lets the rest be taken, then ends", async () => {
  const queue = new BoundedQueue<number>(5);
  for (const item of [1, 2]) queue.offer(item);
  queue.close();
  assert.equal(queue.offer(3), false);
  const seen: number[] = [];
  for await (const item of queue) seen.push(item);
  assert.deepEqual(seen, [1, 2]);
});

test("BoundedQueue: close with an error ends every reader with it, at once", async () => {
  const queue = new BoundedQueue<number>(5);
  queue.offer(1);
  const other = new BoundedQueue<number>(5);
  const waiting = assert.rejects(other.take(), /too slow/);
  for (const q of [queue, other]) q.close(new Error("too slow"));
  await waiting;
  await assert.rejects(queue.take(), /too slow/);
  assert.equal(queue.size, 0);
});

test("BoundedQueue: memory behind the head is freed", async () => {
  const queue = new BoundedQueue<number>(10);
  for (let i = 0; i < 1000; i++) {
    queue.offer(i);
    assert.equal(await queue.take(), i);
  }
  assert.equal(queue.size, 0);
});
