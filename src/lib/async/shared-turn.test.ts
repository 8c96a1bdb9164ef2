import assert from "node:assert/strict";
import { test } from "vitest";
import { SharedTurn } from "./shared-turn.ts";

test("SharedTurn: callers that wait in the same turn continue in the same later turn, step by step", async () => {
  const turn = new SharedTurn();
  const steps: string[] = [];
  const work = async (name: string): Promise<void> => {
    await turn.wait();
    steps.push(`${name}1`);
    await undefined;
    steps.push(`${name}2`);
  };
  const first = work("a");
  await new Promise(process.nextTick); // another event of the same turn
  await Promise.all([first, work("b")]);
  assert.deepEqual(steps, ["a1", "b1", "a2", "b2"]);
});

test("SharedTurn: who comes later waits for a turn of its own", async () => {
  const turn = new SharedTurn();
  const first = turn.wait();
  await first;
  assert.notEqual(turn.wait(), first);
});
