import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { findByKind } from "#api/kinds/built-in-kinds.ts";
import { Revision } from "../storage/revision.ts";
import { type Change, WatchWindow } from "./watch-window.ts";

const kind = findByKind("", "v1", "ConfigMap")!;

function change(revision: number, replacedBytes = 0): Change {
  const key = `k${revision}`;
  const sized = (number: number, size: number): Revision =>
    Revision.fromValue(kind, key, number, { metadata: { name: "x".repeat(size), uid: "u" } });
  const previous = replacedBytes === 0 ? undefined : sized(revision - 1, replacedBytes);
  const object = sized(revision, 1);
  return { revision, key, object, deleted: false, previous, frames: undefined };
}

describe("watch cache: the window of changes", () => {
  test("changes are found by number and by revision", () => {
    const window = new WatchWindow(10);
    for (const revision of [12, 15, 15, 20]) window.push(change(revision), 0);
    assert.deepEqual(
      [9, 10, 11, 12, 14, 15, 19, 20, 99].map((revision) => window.numberAfter(revision)),
      [undefined, 0, 0, 1, 1, 3, 3, 4, 4],
    );
    assert.equal(window.at(3)?.revision, 20);
    assert.equal(window.at(4), undefined);
    assert.equal(window.end, 4);
  });

  test("it keeps no more than its count, and knows since when it is complete", () => {
    const window = new WatchWindow(0);
    for (let revision = 1; revision <= 20_100; revision++) window.push(change(revision), 0);
    assert.equal(window.end - window.start, 20_000);
    assert.equal(window.completeSince, 100);
    assert.equal(window.numberAfter(99), undefined);
    assert.equal(window.at(window.numberAfter(100)!)?.revision, 101);
  });

  test("it keeps no more than its bytes of what was replaced", () => {
    const window = new WatchWindow(0);
    for (let revision = 1; revision <= 100; revision++) window.push(change(revision, 2 ** 20), 0);
    const kept = window.end - window.start;
    assert.ok(kept < 32 && kept > 25, String(kept));
  });

  test("only the latest changes keep their frames", () => {
    const window = new WatchWindow(0);
    for (let revision = 1; revision <= 1_500; revision++) {
      const pushed = change(revision);
      pushed.frames = new Map([["form", new Uint8Array(1)]]);
      window.push(pushed, 0);
    }
    const kept = Array.from({ length: 1_500 }, (_, number) => window.at(number)?.frames?.size ?? 0);
    assert.deepEqual([kept.lastIndexOf(0), kept.indexOf(1)], [499, 500]);
  });

  test("old changes go when new ones come, but some always stay", () => {
    const window = new WatchWindow(0);
    for (let revision = 1; revision <= 500; revision++) window.push(change(revision), 0);
    window.push(change(501), 76_000);
    assert.equal(window.end - window.start, 128);
    assert.equal(window.at(window.end - 1)?.revision, 501);
  });

  test("after a reset every earlier place is overtaken", () => {
    const window = new WatchWindow(0);
    window.push(change(1), 0);
    const place = window.end;
    window.reset(50);
    assert.ok(place < window.start);
    assert.equal(window.numberAfter(49), undefined);
    window.push(change(51), 0);
    assert.equal(window.at(window.numberAfter(50)!)?.revision, 51);
  });
});
