import assert from "node:assert/strict";
import { test } from "vitest";
import { nextTurn } from "./next-turn.ts";
import { TurnLimit } from "./turn-limit.ts";

test("turn limit: two of five begin at once, the others two a turn and in order", async () => {
  const limit = new TurnLimit(2);
  const begun: number[] = [];
  const calls = [0, 1, 2, 3, 4].map(async (n) => {
    await limit.begin();
    begun.push(n);
  });
  const seen: number[] = [];
  for (let turn = 0; turn < 3; turn++) {
    await Promise.resolve();
    seen.push(begun.length);
    await nextTurn();
  }
  await Promise.all(calls);
  assert.deepEqual(begun, [0, 1, 2, 3, 4]);
  assert.ok(seen[0]! <= 2 && seen[1]! <= 4, `${seen}`);
});

test("turn limit: a caller in a later turn does not wait when nothing else does", async () => {
  const limit = new TurnLimit(1);
  assert.equal(limit.begin(), undefined);
  assert.ok(limit.begin() instanceof Promise);
  for (let turn = 0; turn < 4; turn++) await nextTurn();
  assert.equal(limit.begin(), undefined);
});
