/**
 * Gives up history by itself: what is older than `ageMs`, and the older half of it whenever it takes
 * more room than the policy allows. It looks only while there is history to give up: an idle store
 * sets no timer.
 */
import type { Clock, Timer } from "#lib/time/clock.ts";
import type { State } from "./engine.ts";

export interface HistoryPolicy {
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

/** The newest revision at some time. */
export interface Mark {
  readonly atMs: number;
  readonly revision: number;
}

/** By time: the newest revision that was superseded at least `ageMs` ago. `marks` oldest first. */
export function decideByAge(
  marks: readonly Mark[],
  nowMs: number,
  ageMs: number,
): number | undefined {
  return marks.findLast(({ atMs }) => nowMs - atMs >= ageMs)?.revision;
}

/** By size: half of the revisions, once what was given up before is really gone (`swept`). */
export function decideBySize(
  state: State,
  swept: boolean,
  policy: HistoryPolicy,
): number | undefined {
  const allowedBytes = Math.max(policy.bytesMin, policy.liveShare * state.liveBytes);
  if (state.historyBytes <= allowedBytes || !swept) return undefined;
  return state.compactRevision + Math.ceil((state.revision - state.compactRevision) / 2);
}

/** Marks for each age: history is kept for up to a tenth longer than asked. */
const MARKS_PER_AGE = 10;

export class AutoCompaction implements Disposable {
  readonly #clock: Clock;
  readonly #policy: HistoryPolicy;
  readonly #compact: (revision: number) => void;
  #marks: Mark[] = [];
  #timer: Timer | undefined;
  #state: State;

  constructor(
    clock: Clock,
    policy: HistoryPolicy,
    state: State,
    compact: (revision: number) => void,
  ) {
    this.#clock = clock;
    this.#policy = policy;
    this.#state = state;
    this.#compact = compact;
  }

  /** To be told the state after each commit, and once at the start. */
  notice(state: State, swept: boolean): void {
    this.#state = state;
    const bySize = decideBySize(state, swept, this.#policy);
    if (bySize !== undefined) this.#compact(bySize);
    if (this.#timer === undefined && state.revision > state.compactRevision) this.#arm();
  }

  [Symbol.dispose](): void {
    this.#timer?.cancel();
  }

  #arm(): void {
    this.#timer = this.#clock.schedule(this.#policy.ageMs / MARKS_PER_AGE, () => {
      this.#timer = undefined;
      this.#tick();
    });
  }

  #tick(): void {
    const nowMs = this.#clock.nowMs();
    const { revision: newest, compactRevision } = this.#state;
    this.#marks.push({ atMs: nowMs, revision: newest });
    const revision = decideByAge(this.#marks, nowMs, this.#policy.ageMs);
    if (revision !== undefined) {
      this.#marks = this.#marks.filter(({ atMs }) => nowMs - atMs < this.#policy.ageMs);
      if (revision > compactRevision) this.#compact(revision);
    }
    const givenUp = Math.max(revision ?? 0, compactRevision);
    if (newest > givenUp) this.#arm();
    else this.#marks = [];
  }
}
