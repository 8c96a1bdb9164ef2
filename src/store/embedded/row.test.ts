import assert from "node:assert/strict";
import { test } from "vitest";
import { costOf } from "#store/local/engine.ts";
import { decodeRow, RowEncoder } from "./row.ts";

const change = {
  key: "/registry/pods/ä",
  position: 384,
  value: Buffer.from("value"),
  deleted: false,
  createRevision: 2,
  version: 7,
  bytes: costOf("/registry/pods/ä", 5),
  expiresAtMs: 1_900_000_000_000,
  previous: 256,
  committedAtMs: 1_893_456_000_123,
};

test("row of an embedded store: every field is kept, commit time included", () => {
  const [row] = new RowEncoder().encode([change]);
  assert.deepEqual({ ...decodeRow(384, row!), bytes: change.bytes }, change);
});

test("row of an embedded store: format 2 has no commit time", () => {
  const [row] = new RowEncoder().encode([change]);
  const untimed = Buffer.concat([row!.subarray(0, 36), row!.subarray(44)]);
  untimed[34] = 0;
  const decoded = decodeRow(384, untimed);
  assert.deepEqual({ ...decoded, bytes: change.bytes }, { ...change, committedAtMs: 0 });
});
