import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { EVERYTHING, parseSelector } from "#api/meta/label-selector.ts";
import { VirtualClock } from "#lib/time/virtual-clock.ts";
import { SeriesValues } from "./series-values.ts";

const page = (get: number, post: number): string =>
  `# TYPE http_requests_total counter\nhttp_requests_total{method="GET"} ${get}\nhttp_requests_total{method="POST"} ${post}\nqueue_length 7\n`;

describe("SeriesValues of a custom metric", () => {
  test("a gauge is read as it is, with its labels selected", () => {
    const values = new SeriesValues(new VirtualClock("2030-01-01T00:00:00Z"));
    const read = (metric: string) => values.read("pod", page(1, 2), metric, EVERYTHING);
    assert.deepEqual(read("queue_length").map(({ value }) => value), [7]); // biome-ignore format: one row
    assert.deepEqual(read("http_requests_total").map(({ value }) => value), [1, 2]); // biome-ignore format: one row
    assert.deepEqual(read("nothing"), []);
    const selector = parseSelector("method=POST");
    assert.ok(selector.ok);
    const posts = values.read("pod", page(1, 2), "http_requests_total", selector.value);
    assert.deepEqual(posts.map(({ value }) => value), [2]); // biome-ignore format: one row
  });

  test("_per_second is the rate of a counter between two readings; a reset counts from zero", async () => {
    const clock = new VirtualClock("2030-01-01T00:00:00Z");
    const values = new SeriesValues(clock);
    const rates = (get: number, post: number) =>
      values
        .read("pod", page(get, post), "http_requests_per_second", EVERYTHING)
        .map(({ value }) => value);
    assert.deepEqual(rates(100, 0), []);
    await clock.advance(10_000);
    assert.deepEqual(rates(150, 20), [5, 2]);
    assert.deepEqual(rates(150, 20), [5, 2]); // asked again at once
    await clock.advance(10_000);
    assert.deepEqual(rates(30, 20), [3, 0]);
    await clock.advance(600_000);
    assert.deepEqual(rates(900, 20), []); // too long ago
  });
});
