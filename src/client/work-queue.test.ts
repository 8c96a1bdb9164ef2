import assert from "node:assert/strict";
import { test } from "vitest";
import { Metrics } from "#lib/metrics.ts";
import { seededRandom } from "#lib/random.ts";
import { VirtualClock } from "#lib/time/virtual-clock.ts";
import { QueueMetrics } from "./queue-metrics.ts";
import { WorkQueue } from "./work-queue.ts";

function setUp(): { clock: VirtualClock; queue: WorkQueue<string> } {
  const clock = new VirtualClock();
  return { clock, queue: new WorkQueue(clock, seededRandom(1), (key) => key) };
}

test("WorkQueue: a key is queued once, in order of readiness", async () => {
  const { queue } = setUp();
  for (const key of ["a", "b", "a", "c", "b"]) queue.add(key);
  assert.deepEqual(
    [await queue.take(), await queue.take(), await queue.take(), queue.size],
    ["a", "b", "c", 0],
  );
});

test("WorkQueue: a key added while it is worked on comes again when that work is done, and not before", async () => {
  const { queue } = setUp();
  queue.add("a");
  const first = await queue.take();
  queue.add("a");
  queue.add("a");
  assert.equal(queue.size, 0);
  queue.done(first!);
  assert.equal(queue.size, 1);
  queue.done((await queue.take())!);
  assert.equal(queue.busy, 0);
});

test("WorkQueue: a waiting worker is woken", async () => {
  const { queue } = setUp();
  const taken = Promise.all([queue.take(), queue.take()]);
  queue.add("a");
  queue.add("b");
  assert.deepEqual(await taken, ["a", "b"]);
});

test("addAfter keeps the earliest time", async () => {
  const { clock, queue } = setUp();
  queue.addAfter("a", 100);
  queue.addAfter("a", 50);
  queue.addAfter("a", 70);
  await clock.advance(49);
  assert.equal(queue.size, 0);
  await clock.advance(1);
  assert.equal(queue.size, 1);
  clock[Symbol.dispose]();
});

test("work queue: retry waits longer each time until the key is forgotten", async () => {
  const { clock, queue } = setUp();
  const delays = [];
  for (let i = 0; i < 4; i++) {
    delays.push(queue.retry("a"));
    await clock.advance(100);
  }
  assert.deepEqual(delays, [5, 10, 20, 40]);
  assert.equal(queue.failures("a"), 4);
  queue.forget("a");
  assert.equal(queue.retry("a"), 5);
  queue.close();
  clock[Symbol.dispose]();
});

test("work queue: the backoff ends at 1000 seconds", () => {
  const { queue } = setUp();
  let last = 0;
  for (let i = 0; i < 40; i++) last = queue.retry("a");
  assert.equal(last, 1_000_000);
  queue.close();
});

test("WorkQueue: close ends the workers and takes nothing more", async () => {
  const { clock, queue } = setUp();
  const waiting = queue.take();
  queue.addAfter("later", 10);
  queue.close();
  assert.equal(await waiting, undefined);
  queue.add("a");
  assert.equal(await queue.take(), undefined);
  clock[Symbol.dispose]();
});

test("work queue: metrics have upstream's names (workqueue_depth)", async () => {
  const { clock, queue } = setUp();
  const metrics = new Metrics();
  const all = new QueueMetrics(metrics, clock);
  queue.observe(all.observe("things", queue));
  const other = setUp().queue;
  other.observe(all.observe("things", other));
  queue.add("a");
  queue.add("a");
  queue.add("b");
  other.add("c");
  await clock.advance(2_000);
  await queue.take();
  queue.add("a");
  queue.addAfter("d", 10_000);
  await clock.advance(3_000);
  const numbers = Object.fromEntries(
    [...metrics.text().matchAll(/^workqueue_(\w+)\{name="things"\} (.*)$/gm)].map((m) =>
      m.slice(1),
    ),
  );
  assert.deepEqual(numbers, {
    adds_total: "4",
    depth: "2",
    longest_running_processor_seconds: "3",
    queue_duration_seconds_count: "1",
    queue_duration_seconds_sum: "2",
    retries_total: "1",
    unfinished_work_seconds: "3",
    work_duration_seconds_count: "0",
    work_duration_seconds_sum: "0",
  });
  queue.done("a");
  assert.match(metrics.text(), /^workqueue_work_duration_seconds_sum\{name="things"\} 3$/m);
  assert.match(metrics.text(), /^workqueue_depth\{name="things"\} 3$/m);
});
