/** Changes of the log as the events that watches deliver. */
import type { WatchEvent } from "#store/contract.ts";
import { type Change, revisionOf, type View } from "./engine.ts";

export function toWatchEvent(change: Change, prevValue: Uint8Array | undefined): WatchEvent {
  return {
    type: change.deleted ? "delete" : "put",
    key: change.key,
    value: change.value,
    prevValue,
    revision: revisionOf(change.position),
    createRevision: change.deleted ? 0 : change.createRevision,
    version: change.version,
  };
}

/** What the key held before; undefined for a new key. */
export function prevValueOf(change: Change, view: View): Uint8Array | undefined {
  if (change.previous === 0 || change.version === 1) return undefined;
  return view.log.value(change.previous);
}
