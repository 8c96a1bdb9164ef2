/** Compaction, one bounded step at a time: which rows of the log nobody can ask for any more. */
import { positionOf, type State, type Sweep, type Track, type View } from "./engine.ts";

export interface SweepDecision {
  readonly sweep: Sweep;
  readonly sweptPosition: number;
  readonly freedBytes: number;
}

export const NO_SWEEP: Sweep = { positions: [], tracks: [] };

/** Sweeps up after at most `tracksMax` of the changes that `compactRevision` has overtaken. */
export function decideSweep(view: View, compactRevision: number, tracksMax: number): SweepDecision {
  const end = positionOf(compactRevision + 1, 0);
  const tracks: Track[] = [];
  const positions: number[] = [];
  let sweptPosition = end - 1;
  let freedBytes = 0;
  for (const track of view.keys.trail()) {
    if (track.position >= end) break;
    if (tracks.length === tracksMax) {
      sweptPosition = track.position - 1;
      break;
    }
    tracks.push(track);
    positions.push(track.previous);
    if (track.deletedKey !== undefined) positions.push(track.position);
    freedBytes += track.obsoleteBytes;
  }
  return { sweep: { positions, tracks }, sweptPosition, freedBytes };
}

export function isSwept({ compactRevision, sweptPosition }: State): boolean {
  return sweptPosition >= positionOf(compactRevision + 1, 0) - 1;
}
