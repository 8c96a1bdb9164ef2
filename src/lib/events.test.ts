import assert from "node:assert/strict";
import { test } from "vitest";
import { Emitter } from "./events.ts";

type Events = { changed: number; ended: undefined };

test("Emitter: listeners are called in order of subscription until they are disposed of", () => {
  const emitter = new Emitter<Events>();
  const seen: string[] = [];
  const first = emitter.on("changed", (n) => void seen.push(`first ${n}`));
  emitter.on("changed", (n) => void seen.push(`second ${n}`));
  emitter.emit("changed", 1);
  first[Symbol.dispose]();
  emitter.emit("changed", 2);
  emitter.emit("ended", undefined);
  assert.deepEqual(seen, ["first 1", "second 1", "second 2"]);
});

test("Emitter: a signal ends a subscription, and an aborted one never begins", () => {
  const emitter = new Emitter<Events>();
  const controller = new AbortController();
  emitter.on("changed", () => assert.fail("called"), controller.signal);
  controller.abort();
  emitter.on("changed", () => assert.fail("called"), controller.signal);
  emitter.emit("changed", 1);
  assert.equal(emitter.listenerCount("changed"), 0);
});

test("Emitter: a listener removed while emitting is not called", () => {
  const emitter = new Emitter<Events>();
  let second: Disposable | undefined;
  emitter.on("changed", () => second?.[Symbol.dispose]());
  second = emitter.on("changed", () => assert.fail("called"));
  emitter.emit("changed", 1);
});

test("Emitter: one that throws does not stop the others", () => {
  const emitter = new Emitter<Events>();
  let called = false;
  emitter.on("changed", () => {
    throw new Error("first");
  });
  emitter.on("changed", () => {
    called = true;
  });
  assert.throws(() => emitter.emit("changed", 1), /first/);
  assert.ok(called);
});
