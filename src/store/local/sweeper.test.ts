import assert from "node:assert/strict";
import { test } from "vitest";
import { seededRandom } from "#lib/random.ts";
import type { Operation } from "#store/contract.ts";
import {
  type Change,
  type Head,
  NO_SWEEP,
  type ObsoleteRow,
  positionOf,
  revisionOf,
  type Sweep,
  type View,
} from "./engine.ts";
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
    const plan = planCommit(engine.view, [{ operations: [operation] }], NO_SWEEP, 0, 0);
    if (plan.commit !== undefined) engine.commit(plan.commit);
  }
  return engine;
}

for (const seed of [1, 2, 3, 4, 5]) {
  test(`sweeper: broken off anywhere, no key is lost and none comes back, seed ${seed}`, () => {
    const { view } = liveWith(seed);
    const rows = rowsUpTo(view, view.state.revision);
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
  const gone = new Set(rowsUpTo(view, compactRevision).map(({ position }) => position));
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
  const next = (writes: number): Sweep => sweeper.next(engine.view, revision, writes);
  const first = next(20);
  assert.equal(first.rows.length, 40);
  assert.deepEqual(next(0).rows.slice(0, 40), first.rows);
  let doses = 0;
  while (!sweeper.isDone(engine.view, revision)) {
    const sweep = next(20);
    engine.commit({ state: engine.view.state, sweep, steps: [] });
    sweeper.done(sweep);
    doses += 1;
    assert.ok(doses < 100, "it comes to an end");
  }
  assert.deepEqual(next(20), NO_SWEEP);
  assert.deepEqual([...engine.view.keys.tombstones("")], []);
});

test("sweeper: small commits save up for a dose that is worth it", () => {
  const engine = liveWith(8);
  const sweeper = new Sweeper();
  const rows: number[] = [];
  for (let commit = 0; commit < 32; commit++) {
    const sweep = sweeper.next(engine.view, engine.view.state.revision, 1);
    sweeper.done(sweep);
    if (sweep.rows.length > 0) rows.push(sweep.rows.length);
  }
  assert.deepEqual(rows, [32, 32]);
});

function rowsUpTo({ keys }: View, revision: number): ObsoleteRow[] {
  return obsoleteRows(keys.trail.first(positionOf(revision + 1, 0)));
}

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
