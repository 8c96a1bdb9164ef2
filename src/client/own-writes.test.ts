import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import { test } from "vitest";
import { OwnWrites } from "./own-writes.ts";

const expectationOf = (name: string) => ({
  ...{ namespace: "ns", name, uid: `uid-${name}`, resourceVersion: "5" },
});

test("OwnWrites: a change is compared with the waits for its own object only", async () => {
  const arrivals = new OwnWrites();
  const { signal } = new AbortController();
  const first = arrivals.wait("ns/a", expectationOf("a"), signal);
  void arrivals.wait("ns/b", expectationOf("b"), signal);
  const asked: string[] = [];
  arrivals.settle("ns/a", ({ name }) => asked.push(name) > 0);
  await first;
  assert.deepEqual(asked, ["a"]);
});

test("an AbortSignal has one listener for all waits, and none after the last", async () => {
  const arrivals = new OwnWrites();
  const life = new AbortController();
  const names = ["a", "b", "c"];
  const waits = names.map((name) => arrivals.wait(name, expectationOf(name), life.signal));
  assert.equal(getEventListeners(life.signal, "abort").length, 1);
  for (const name of names) arrivals.settle(name, () => true);
  await Promise.all(waits);
  assert.equal(getEventListeners(life.signal, "abort").length, 0);
});

test("OwnWrites: waits are rejected when their signal aborts", async () => {
  const arrivals = new OwnWrites();
  const life = new AbortController();
  const wait = arrivals.wait("a", expectationOf("a"), life.signal);
  life.abort(new Error("stop"));
  await assert.rejects(wait, /stop/);
  await assert.rejects(arrivals.wait("a", expectationOf("a"), life.signal), /stop/);
});
