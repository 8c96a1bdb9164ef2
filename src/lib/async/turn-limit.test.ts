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

test("turn limit: fewer begin while turns are long, but always one", async () => {
  const turns = { share: 0.5, isLate: false, rest: undefined };
  const limit = new TurnLimit(4, turns);
  const begun: number[] = [];
  const calls = [0, 1, 2, 3, 4].map(async (n) => {
    await limit.begin();
    begun.push(n);
  });
  await Promise.resolve();
  assert.deepEqual(begun, [0, 1]);
  turns.share = 0.1;
  await nextTurn();
  await Promise.resolve();
  await Promise.resolve();
  assert.deepEqual(begun, [0, 1, 2]);
  await Promise.all(calls);
  assert.deepEqual(begun, [0, 1, 2, 3, 4]);
});

test("turn limit: nobody begins late in a turn or during a rest", async () => {
  let end: () => void = () => undefined;
  const rest = new Promise<void>((resolve) => {
    end = resolve;
  });
  const turns: { share: number; isLate: boolean; rest: Promise<void> | undefined } = {
    ...{ share: 1, isLate: true, rest: undefined },
  };
  const limit = new TurnLimit(4, turns);
  const begun: string[] = [];
  const call = async (name: string): Promise<void> => {
    await limit.begin();
    begun.push(name);
  };
  const late = call("late");
  assert.deepEqual(begun, []);
  await nextTurn();
  await late;
  assert.deepEqual(begun, ["late"]);
  turns.isLate = false;
  turns.rest = rest;
  await nextTurn();
  const during = call("during the rest");
  for (let turn = 0; turn < 5; turn++) await nextTurn();
  assert.deepEqual(begun, ["late"]);
  turns.rest = undefined;
  end();
  await during;
  assert.deepEqual(begun, ["late", "during the rest"]);
});
