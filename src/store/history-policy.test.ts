import assert from "node:assert/strict";
import { test } from "vitest";
import { parseHistory } from "./history-policy.ts";

const HOUR = 3_600_000;
const GIB = 2 ** 30;

const rows = [
  { text: "5m", want: { ageMs: HOUR / 12, bytesMin: 10 * GIB } },
  { text: "24h", want: { ageMs: 24 * HOUR, bytesMin: 10 * GIB } },
  { text: "1h30m", want: { ageMs: 1.5 * HOUR, bytesMin: 10 * GIB } },
  { text: "7d", want: { ageMs: 7 * 24 * HOUR, bytesMin: 10 * GIB } },
  { text: "10GiB", want: { ageMs: Number.POSITIVE_INFINITY, bytesMin: 10 * GIB } },
  { text: "512Mi", want: { ageMs: Number.POSITIVE_INFINITY, bytesMin: GIB / 2 } },
  { text: "24h,2GiB", want: { ageMs: 24 * HOUR, bytesMin: 2 * GIB } },
  { text: "2GiB,24h", want: { ageMs: 24 * HOUR, bytesMin: 2 * GIB } },
];
for (const { text, want } of rows) {
  test(`--history ${text}`, () => {
    assert.deepEqual(parseHistory(text), { ok: true, policy: { ...want, liveShare: 0 } });
  });
}

const refused = [
  { text: "", why: /want an age, a size or both/ },
  { text: "forever", why: /want an age, a size or both/ },
  { text: "5m,6m", why: /want an age, a size or both/ },
  { text: "10GB", why: /want an age, a size or both/ },
  { text: "5s", why: /the shortest is 1m/ },
  { text: "1KiB", why: /the least is 1MiB/ },
];
for (const { text, why } of refused) {
  test(`--history ${JSON.stringify(text)} is refused`, () => {
    const result = parseHistory(text);
    assert.match(result.ok ? "" : result.message, why);
  });
}
