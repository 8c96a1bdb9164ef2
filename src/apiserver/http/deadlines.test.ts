import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { VirtualClock } from "#lib/time/virtual-clock.ts";
import { askedTimeoutMs, Deadlines } from "./deadlines.ts";

function world(timeoutMs: number) {
  const clock = new VirtualClock("2030-01-01T00:00:00Z");
  const expired: string[] = [];
  return {
    clock,
    expired,
    deadlines: new Deadlines<string>(clock, timeoutMs, (i) => expired.push(i)),
  };
}

describe("HTTP server: the time of a request", () => {
  test("runs out in the order in which they came, unless they ended", async () => {
    const { clock, expired, deadlines } = world(1000);
    deadlines.begin("a");
    await clock.advance(400);
    const b = deadlines.begin("b");
    deadlines.begin("c");
    await clock.advance(599);
    assert.deepEqual(expired, []);
    await clock.advance(1);
    assert.deepEqual(expired, ["a"]);
    b.end();
    b.end();
    await clock.advance(400);
    assert.deepEqual(expired, ["a", "c"]);
    deadlines.begin("d");
    await clock.advance(1000);
    assert.deepEqual(expired, ["a", "c", "d"]);
  });

  test("is what the client gives it, but no more than it may", async () => {
    const { clock, expired, deadlines } = world(1000);
    deadlines.begin("short", 10);
    deadlines.begin("long", 5000);
    deadlines.begin("none", 0.001);
    deadlines.begin("in time", 10).end();
    assert.deepEqual(expired, ["none"]);
    await clock.advance(10);
    assert.deepEqual(expired, ["none", "short"]);
    await clock.advance(990);
    assert.deepEqual(expired, ["none", "short", "long"]);
  });

  test("has no end when the limit is nought", async () => {
    const { clock, expired, deadlines } = world(0);
    deadlines.begin("a").end();
    deadlines.begin("b");
    deadlines.begin("c", 20);
    await clock.advance(1_000_000);
    assert.deepEqual(expired, ["c"]);
  });
});

describe("HTTP server: what a client asks for", () => {
  const rows: [url: string, ms: number][] = [
    ["/api/v1/pods", 0],
    ["/api/v1/pods?timeoutSeconds=5", 0],
    ["/api/v1/pods?limit=1&timeout=1500ms", 1500],
    ["/api/v1/pods?timeout=1us", 0.001],
    ["/api/v1/pods?timeout=", 0],
    ["/api/v1/pods?timeout=soon", 0],
    ["/api/v1/pods?timeout=-5s", -5000],
    ["/timeout=5s", 0],
  ];
  test.each(rows)("%s", (url, ms) => assert.equal(askedTimeoutMs(url), ms));
});
