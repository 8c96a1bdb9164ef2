/** One commit as a pure function of the tables: the waiting writes in order, and a step of sweeping. */
import type { Operation, TransactAnswer } from "#store/contract.ts";
import { decideWrite, PendingView } from "./decide-write.ts";
import type { Commit, State, Step, View } from "./engine.ts";
import { decideSweep, isSwept, NO_SWEEP } from "./sweep.ts";

export interface CommitPlan {
  /** Undefined if there is nothing to change. */
  readonly commit: Commit | undefined;
  /** For each write, what to answer once the commit is done. */
  readonly answers: readonly TransactAnswer[];
}

export function planCommit(
  view: View,
  writes: readonly (readonly Operation[])[],
  compactRevision: number,
  nowMs: number,
): CommitPlan {
  const pending = new PendingView(view);
  const steps: Step[] = [];
  let { revision } = view.state;
  const answers = writes.map((operations): TransactAnswer => {
    const decision = decideWrite(operations, pending, revision + 1, nowMs);
    if (!decision.ok) return { ok: false, revision, conflicts: decision.conflicts };
    if (decision.steps.length > 0) revision += 1;
    for (const step of decision.steps) steps.push(step);
    pending.add(decision.steps);
    return { ok: true, revision };
  });

  const before: State = { ...view.state, compactRevision };
  if (isSwept(before)) {
    const state = account({ ...before, revision }, steps);
    return { commit: steps.length === 0 ? undefined : { state, sweep: NO_SWEEP, steps }, answers };
  }
  const dose = sweepDose(steps.length);
  const { sweep, sweptPosition, freedBytes } = decideSweep(view, compactRevision, dose);
  const historyBytes = before.historyBytes - freedBytes;
  const state = account({ ...before, revision, sweptPosition, historyBytes }, steps);
  return { commit: { state, sweep, steps }, answers };
}

/** What a change replaces moves from the live data to history; a deletion is history itself. */
export function account(state: State, steps: readonly Step[]): State {
  let { liveBytes, historyBytes } = state;
  for (const { change, replaced } of steps) {
    const replacedBytes = replaced?.bytes ?? 0;
    liveBytes += (change.deleted ? 0 : change.bytes) - replacedBytes;
    historyBytes += (change.deleted ? change.bytes : 0) + replacedBytes;
  }
  return { ...state, liveBytes, historyBytes };
}

/**
 * How many changes a commit looks at for sweeping. Twice what it writes outruns any writer, and in
 * small doses, because LMDB gets slow with long lists of free pages. With nothing to write there is
 * nobody to slow down.
 */
function sweepDose(steps: number): number {
  return steps === 0 ? 256 : 2 + 2 * steps;
}
