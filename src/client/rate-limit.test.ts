import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { VirtualClock } from "#lib/time/virtual-clock.ts";
import { limitedTransport, type RateLimit } from "./rate-limit.ts";
import type { Transport } from "./transport.ts";

/** Records when each request was sent, in milliseconds from the start. */
function world(limit: RateLimit | undefined) {
  const clock = new VirtualClock("2030-01-01T00:00:00Z");
  const startMs = clock.elapsedMs();
  const sent: number[] = [];
  const counting: Transport = {
    send: async () => ({ ok: true, value: void sent.push(clock.elapsedMs() - startMs) }),
    raw: async () => ({ ok: true, value: void sent.push(clock.elapsedMs() - startMs) }),
    async *watch() {
      yield [{ type: "BOOKMARK", object: { metadata: {} } }];
    },
  };
  return { clock, sent, transport: limitedTransport(counting, limit, clock) };
}

describe("client rate limit (QPS): a limited transport", () => {
  const rows = [
    {
      name: "without a limit all requests are sent at once",
      limit: undefined,
      requests: 4,
      want: [0, 0, 0, 0],
    },
    {
      name: "a burst is sent at once, then one request every 100 ms",
      limit: { perSecond: 10, burst: 2 },
      requests: 5,
      want: [0, 0, 100, 200, 300],
    },
    {
      name: "less than one a second",
      limit: { perSecond: 0.5, burst: 1 },
      requests: 3,
      want: [0, 2_000, 4_000],
    },
  ];
  for (const { name, limit, requests, want } of rows) {
    test(name, async () => {
      const { clock, sent, transport } = world(limit);
      for (let i = 0; i < requests; i++) void transport.raw("/version");
      await clock.advance(10_000);
      assert.deepEqual(sent, want);
    });
  }

  test("fills up again in a pause, but no more than the burst", async () => {
    const { clock, sent, transport } = world({ perSecond: 10, burst: 2 });
    for (let i = 0; i < 2; i++) void transport.raw("/version");
    await clock.advance(60_000);
    for (let i = 0; i < 3; i++) void transport.raw("/version");
    await clock.advance(1_000);
    assert.deepEqual(sent, [0, 0, 60_000, 60_000, 60_100]);
  });

  test("who gives up leaves its turn to the next", async () => {
    const { clock, sent, transport } = world({ perSecond: 1, burst: 1 });
    void transport.raw("/version");
    const impatient = new AbortController();
    const gone = transport.raw("/version", impatient.signal);
    impatient.abort(new Error("enough"));
    await assert.rejects(gone, /enough/);
    void transport.raw("/version");
    await clock.advance(1_000);
    assert.deepEqual(sent, [0, 1_000]);
  });

  test("a watch is not rate limited", async () => {
    const { transport } = world({ perSecond: 0.001, burst: 1 });
    void transport.raw("/version");
    const call = { kind: {} as never, query: {} };
    const events = [];
    for await (const batch of transport.watch(call, new AbortController().signal)) {
      events.push(...batch.map(({ type }) => type));
    }
    assert.deepEqual(events, ["BOOKMARK"]);
  });
});
