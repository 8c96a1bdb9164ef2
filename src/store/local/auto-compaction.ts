/**
 * Compacts by policy: what is older than `ageMs`, and the older half of history whenever it takes
 * more room than the policy allows or the disk is full. It sets a timer only while there is history
 * that can become too old. Ages follow from the stored commit times, so they count across restarts.
 */
import type { Clock, Timer } from "#lib/time/clock.ts";
import type { State } from "./engine.ts";

export interface HistoryPolicy {
  /** Infinity: history is limited by its size only. */
  readonly ageMs: number;
  /** History may take this much, */
  readonly bytesMin: number;
  /** or this share of the live data, if that is more. */
  readonly liveShare: number;
}

export const DEFAULT_HISTORY: HistoryPolicy = {
  ageMs: 5 * 60_000,
  bytesMin: 32 * 1024 * 1024,
  liveShare: 0.5,
};

/** By size: half of the revisions, once what was given up before is really gone (`swept`). */
export function decideBySize(
  state: State,
  swept: boolean,
  policy: HistoryPolicy,
): number | undefined {
  const allowedBytes = Math.max(policy.bytesMin, policy.liveShare * state.liveBytes);
  if (state.historyBytes <= allowedBytes || !swept) return undefined;
  return olderHalf(state);
}

function olderHalf({ revision, compactRevision }: State): number {
  return compactRevision + Math.ceil((revision - compactRevision) / 2);
}

/** Looks for each age: history is kept for up to a tenth longer than asked. */
const LOOKS_PER_AGE = 10;
const LOOK_MS_MAX = 24 * 3_600_000;

export interface AutoCompactionOptions {
  readonly clock: Clock;
  readonly policy: HistoryPolicy;
  readonly state: State;
  /** The newest revision that was committed at or before this time. */
  revisionAt(timeMs: number): number;
  compact(revision: number): void;
}

export class AutoCompaction implements Disposable {
  readonly #options: AutoCompactionOptions;
  #timer: Timer | undefined;
  #state: State;

  constructor(options: AutoCompactionOptions) {
    this.#options = options;
    this.#state = options.state;
  }

  /** Call it with the state after each commit, and once at the start. */
  notice(state: State, swept: boolean): void {
    this.#state = state;
    const bySize = decideBySize(state, swept, this.#options.policy);
    if (bySize !== undefined) this.#options.compact(bySize);
    if (this.#timer === undefined && state.revision > state.compactRevision) this.#arm();
  }

  /** Call it when a commit did not fit on the disk. */
  noticeFullDisk(swept: boolean): void {
    if (swept && this.#state.historyBytes > 0) this.#options.compact(olderHalf(this.#state));
  }

  [Symbol.dispose](): void {
    this.#timer?.cancel();
  }

  #arm(): void {
    const { clock, policy } = this.#options;
    if (policy.ageMs === Number.POSITIVE_INFINITY) return;
    this.#timer = clock.schedule(Math.min(policy.ageMs / LOOKS_PER_AGE, LOOK_MS_MAX), () => {
      this.#timer = undefined;
      this.#look();
    });
  }

  #look(): void {
    const { clock, policy, revisionAt, compact } = this.#options;
    const { revision: newest, compactRevision } = this.#state;
    const revision = revisionAt(clock.nowMs() - policy.ageMs);
    if (revision > compactRevision) compact(revision);
    if (newest > Math.max(revision, compactRevision)) this.#arm();
  }
}
