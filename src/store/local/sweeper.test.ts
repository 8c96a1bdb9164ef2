import assert from "node:assert/strict";
import { test } from "vitest";
import { seededRandom } from "#lib/random.ts";
import type { Operation } from "#store/contract.ts";
import { type Change, type Head, positionOf, revisionOf, type View } from "./engine.ts";
import { KeyIndex } from "./key-index.ts";
import { MemoryEngine } from "./memory-engine.ts";
import { planCommit } from "./plan-commit.ts";
import { obsoleteRows, Sweeper } from "./sweeper.ts";

/** An engine with a random life behind it. */
function liveWith(seed: number): MemoryEngine {
  const random = seededRandom(seed);
  const engine = MemoryEngine.create();
  for (let write = 0; write < 120; write++) {
    const key = `k${random.integer(8)}`;
    const put: Operation = { op: "put", key, value: Buffer.from(`${write}`) };
    const operation: Operation = random.next() < 0.3 ? { op: "delete", key } : put;
    const plan = planCommit(engine.view, [[operation]], [], 0, 0);
    if (plan.commit !== undefined) engine.commit(plan.commit);
  }
  return engine;
}

for (const seed of [1, 2, 3, 4, 5]) {
  test(`sweeper: broken off anywhere, no key is lost and none comes back, seed ${seed}`, () => {
    const { view } = liveWith(seed);
    const rows = obsoleteRows(view, view.state.revision);
    const wanted = [...view.keys.heads("")];
    for (let removed = 0; removed <= rows.length; removed++) {
      const gone = new Set(rows.slice(0, removed).map(({ position }) => position));
      assert.deepEqual(
        rebuiltHeads(view, gone),
        wanted,
        `${removed} of ${rows.length} rows removed`,
      );
    }
    const left = allChanges(view).length - rows.length;
    assert.equal(left, wanted.length, "in the end only what lives is left");
  });
}

test("sweeper: what can still be asked for stays", () => {
  const { view } = liveWith(6);
  const compactRevision = Math.floor(view.state.revision / 2);
  const gone = new Set(obsoleteRows(view, compactRevision).map(({ position }) => position));
  assert.ok(gone.size > 10);
  for (let revision = compactRevision; revision <= view.state.revision; revision++) {
    const inForce = new Map<string, Change>();
    for (const change of allChanges(view)) {
      if (revisionOf(change.position) <= revision) inForce.set(change.key, change);
    }
    for (const { position, deleted, key } of inForce.values()) {
      assert.ok(deleted || !gone.has(position), `${key} at revision ${revision}`);
    }
  }
});

test("sweeper: the same rows are handed out until they are gone", () => {
  const engine = liveWith(7);
  const { revision } = engine.view.state;
  const sweeper = new Sweeper();
  const first = sweeper.next(engine.view, revision, 5);
  assert.equal(first.length, 5);
  assert.deepEqual(sweeper.next(engine.view, revision, 5), first);
  let doses = 0;
  while (!sweeper.isDone(engine.view, revision)) {
    const sweep = sweeper.next(engine.view, revision, 7);
    engine.commit({ state: engine.view.state, sweep, steps: [] });
    sweeper.remove(sweep.length);
    doses += 1;
    assert.ok(doses < 100, "it comes to an end");
  }
  assert.deepEqual(sweeper.next(engine.view, revision, 7), []);
  assert.deepEqual([...engine.view.keys.graves("")], []);
});

function allChanges({ log, state }: View): Change[] {
  return [...log.changes(0, positionOf(state.revision + 1, 0))];
}

function rebuiltHeads(view: View, gone: ReadonlySet<number>): Head[] {
  const keys = KeyIndex.create();
  for (const change of allChanges(view)) {
    if (!gone.has(change.position)) keys.apply({ change, replaced: keys.head(change.key) });
  }
  return [...keys.heads("")];
}
