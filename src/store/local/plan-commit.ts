/** One commit as a pure function of the tables: the waiting writes in order, and a step of sweeping. */
import type { Operation, TransactAnswer } from "#store/contract.ts";
import { decideWrite, PendingView } from "./decide-write.ts";
import type { Commit, State, Step, Sweep, View } from "./engine.ts";

export interface CommitPlan {
  /** Undefined if there is nothing to change. */
  readonly commit: Commit | undefined;
  /** For each write, what to answer once the commit is done. */
  readonly answers: readonly TransactAnswer[];
}

/** `sweep`: what to remove on the way. */
export function planCommit(
  view: View,
  writes: readonly { readonly operations: readonly Operation[] }[],
  sweep: Sweep,
  compactRevision: number,
  nowMs: number,
): CommitPlan {
  const pending = new PendingView(view);
  const steps: Step[] = [];
  let { revision } = view.state;
  const answers = writes.map(({ operations }): TransactAnswer => {
    const decision = decideWrite(operations, pending, revision + 1, nowMs);
    if (!decision.ok) return { ok: false, revision, conflicts: decision.conflicts };
    if (decision.steps.length > 0) revision += 1;
    for (const step of decision.steps) {
      steps.push(step);
      pending.add(step);
    }
    return { ok: true, revision };
  });
  const same = compactRevision === view.state.compactRevision;
  if (same && steps.length === 0 && sweep.rows.length === 0) return { commit: undefined, answers };

  let { historyBytes } = view.state;
  for (const { bytes } of sweep.rows) historyBytes -= bytes;
  const state = account({ ...view.state, revision, compactRevision, historyBytes }, steps);
  return { commit: { state, sweep, steps }, answers };
}

/** What a change replaces moves from the live data to history; a deletion is history itself. */
export function account(state: State, steps: readonly Step[]): State {
  let { liveBytes, historyBytes } = state;
  for (const step of steps) {
    const moved = movedBytes(step);
    liveBytes += moved.live;
    historyBytes += moved.history;
  }
  return { ...state, liveBytes, historyBytes };
}

export function movedBytes({ change, replaced }: Step): { live: number; history: number } {
  const replacedBytes = replaced?.bytes ?? 0;
  return {
    live: (change.deleted ? 0 : change.bytes) - replacedBytes,
    history: (change.deleted ? change.bytes : 0) + replacedBytes,
  };
}
