/** Compaction, one bounded step at a time: which rows of the tables nobody can ask for any more. */
import { positionOf, type State, type Sweep, type View } from "./engine.ts";

export interface SweepDecision {
  readonly sweep: Sweep;
  readonly sweptPosition: number;
  readonly freedBytes: number;
}

export const NO_SWEEP: Sweep = { positions: [], graves: [] };

/** Looks at up to `changesMax` changes that `compactRevision` has overtaken. */
export function decideSweep(
  view: View,
  compactRevision: number,
  changesMax: number,
): SweepDecision {
  const positions: number[] = [];
  const graves: string[] = [];
  const end = positionOf(compactRevision + 1, 0);
  let sweptPosition = end - 1;
  let freedBytes = 0;
  let seen = 0;
  for (const change of view.log.changes(view.state.sweptPosition + 1, end)) {
    if (seen === changesMax) {
      sweptPosition = change.position - 1;
      break;
    }
    seen += 1;
    // What a new key (version 1) continues from is a deletion, which went when it was swept itself.
    if (change.previous !== 0 && change.version !== 1) {
      positions.push(change.previous);
      freedBytes += change.previousBytes;
    }
    if (change.deleted) {
      positions.push(change.position);
      freedBytes += change.bytes;
      if (view.keys.grave(change.key) === change.position) graves.push(change.key);
    }
  }
  return { sweep: { positions, graves }, sweptPosition, freedBytes };
}

export function isSwept({ compactRevision, sweptPosition }: State): boolean {
  return sweptPosition >= positionOf(compactRevision + 1, 0) - 1;
}
