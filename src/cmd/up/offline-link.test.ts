import assert from "node:assert/strict";
import { test } from "vitest";
import { VirtualClock } from "#lib/time/virtual-clock.ts";
import { untilListed } from "./offline-link.ts";

const rows = [
  { name: "as long as the kernel takes to notice the carrier", carrierMs: 400, waitedMs: 400 },
  { name: "3 s at most", carrierMs: 10_000, waitedMs: 3_000 },
];
test.each(rows)(
  "k8ts up without a network waits until networkInterfaces lists its link: $name",
  async ({ carrierMs, waitedMs }) => {
    const clock = new VirtualClock("2030-01-01T00:00:00Z");
    let waited: number | undefined;
    const listed = (): boolean => clock.elapsedMs() >= carrierMs;
    const { signal } = new AbortController();
    void untilListed(listed, clock, signal).then(() => (waited = clock.elapsedMs()));
    await clock.advance(20_000);
    assert.equal(waited, waitedMs);
  },
);
