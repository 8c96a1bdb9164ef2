import assert from "node:assert/strict";
import { test } from "vitest";
import { SharedTurn } from "./shared-turn.ts";

test("SharedTurn: the first caller of a turn goes on at once, the others together in a later turn", async () => {
  const turn = new SharedTurn();
  const steps: string[] = [];
  const work = async (name: string): Promise<void> => {
    const waiting = turn.wait();
    if (waiting !== undefined) await waiting;
    steps.push(`${name}1`);
    await undefined;
    steps.push(`${name}2`);
  };
  const first = work("a");
  await new Promise(process.nextTick); // another event of the same turn
  await Promise.all([first, work("b"), work("c")]);
  assert.deepEqual(steps, ["a1", "a2", "b1", "c1", "b2", "c2"]);
});

test("SharedTurn: who comes in a later turn is the first of that turn", async () => {
  const turn = new SharedTurn();
  assert.equal(turn.wait(), undefined);
  const second = turn.wait();
  assert.ok(second !== undefined);
  await second;
  assert.equal(turn.wait(), undefined);
});
