/** Fills an empty engine from a snapshot: keys keep their revisions, history begins at its revision. */
import type { SnapshotEntry, SnapshotHeader } from "#store/snapshot-format.ts";
import { costOf, type Engine, NO_SWEEP, positionOf, type State, type Step } from "./engine.ts";
import { account } from "./plan-commit.ts";

const STEPS_PER_COMMIT = 500;

export async function restoreInto(
  engine: Engine,
  { revision }: SnapshotHeader,
  entries: AsyncIterable<SnapshotEntry>,
): Promise<void> {
  let state: State = { ...engine.view.state, revision, compactRevision: revision };
  const positions = new Positions();
  let steps: Step[] = [];
  const commit = async (): Promise<void> => {
    state = account(state, steps);
    await engine.commit({ state, steps, sweep: NO_SWEEP });
    steps = [];
  };
  for await (const entry of entries) {
    steps.push({ change: toChange(entry, positions.next(entry.modRevision)), replaced: undefined });
    if (steps.length === STEPS_PER_COMMIT) await commit();
  }
  await commit();
}

function toChange(entry: SnapshotEntry, position: number): Step["change"] {
  const { key, value, createRevision, version, expiresAtMs } = entry;
  const bytes = costOf(key, value.length);
  const about = { createRevision, version, bytes, expiresAtMs };
  return { key, value, position, ...about, deleted: false, previous: 0, committedAtMs: 0 };
}

/** Keys that one transaction wrote share a revision, but each needs a position of its own. */
class Positions {
  readonly #used = new Map<number, number>();

  next(revision: number): number {
    const index = this.#used.get(revision) ?? 0;
    this.#used.set(revision, index + 1);
    return positionOf(revision, index);
  }
}
