/** What the small parts cost, beside the plainest thing that does the same job. */
import { Heap } from "#lib/collections/heap.ts";
import { OrderedMap } from "#lib/collections/ordered-map.ts";
import { createLogger } from "#lib/logger.ts";
import { Metrics } from "#lib/metrics.ts";
import { seededRandom } from "#lib/random.ts";
import type { BenchOptions, Row } from "./row.ts";

export const name = "lib";

export async function* run({ quick, progress }: BenchOptions): AsyncIterable<Row> {
  const count = quick ? 20_000 : 200_000;
  const random = seededRandom(1);
  const numbers = Array.from({ length: count }, () => random.next());

  progress("heap");
  const sorted = rate(count, () => void [...numbers].sort((a, b) => a - b));
  const heaped = rate(count, () => {
    const heap = new Heap<number>((a, b) => a - b);
    for (const n of numbers) heap.push(n);
    while (heap.pop() !== undefined);
  });
  yield {
    name: "heap push+pop",
    value: heaped,
    unit: "/s",
    limit: sorted,
    limitName: "sort",
    target: 0.3,
  };

  progress("ordered map");
  const mapped = rate(count, () => {
    const map = new Map<number, number>();
    for (const n of numbers) map.set(n, n);
  });
  const ordered = rate(count, () => {
    const map = OrderedMap.byNumber<number>();
    for (const n of numbers) map.set(n, n);
  });
  yield {
    name: "ordered map set",
    value: ordered,
    unit: "/s",
    limit: mapped,
    limitName: "Map.set",
  };

  progress("logger");
  let _bytes = 0;
  const line = { time: "2030-01-01T00:00:00.000Z", level: "info", message: "m", a: 1, b: "two" };
  const bare = rate(count, () => {
    for (let i = 0; i < count; i++) _bytes += JSON.stringify(line).length;
  });
  const logger = createLogger({
    level: "info",
    format: "json",
    clock: { nowMs: () => 1_893_456_000_000 },
    write: (text) => {
      _bytes += text.length;
    },
  });
  const logged = rate(count, () => {
    for (let i = 0; i < count; i++) logger.info("m", { a: 1, b: "two" });
  });
  yield { name: "log line", value: logged, unit: "/s", limit: bare, limitName: "JSON.stringify" };

  progress("metrics");
  const histogram = new Metrics().histogram({ name: "h", help: "h", buckets: [1, 2, 5, 10, 20] })();
  const observed = rate(count, () => {
    for (let i = 0; i < count; i++) histogram.observe(i % 30);
  });
  yield { name: "histogram observe", value: observed, unit: "/s" };
}

/** Best of five, in operations a second. */
function rate(operations: number, work: () => void): number {
  let bestMs = Number.POSITIVE_INFINITY;
  for (let i = 0; i < 5; i++) {
    const start = performance.now();
    work();
    bestMs = Math.min(bestMs, performance.now() - start);
  }
  return (operations / bestMs) * 1000;
}
