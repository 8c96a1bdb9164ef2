/**
 * How far the store has come when a mark of progress is asked for.
 *
 * etcd has a request for this, but its answer overtakes events that wait to be sent (until 3.4.25
 * and 3.5.8), or never comes to a watch that has had no event (from there until 3.4.30 and 3.5.12).
 * So the newest revision is read, and the watch itself knows when it has come as far: it receives the
 * changes of all keys, and each revision is a change of one.
 */
import type { Clock } from "#lib/time/clock.ts";

const RETRY_MS = 200;

export interface ProgressOptions {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  currentRevision(): Promise<number>;
  /** Gets a revision that is no older than the last call of `want`, unless another follows. */
  onRevision(revision: number): void;
}

export class ProgressRequests {
  readonly #options: ProgressOptions;
  #asking = false;
  #askAgain = false;

  constructor(options: ProgressOptions) {
    this.#options = options;
  }

  want(): void {
    this.#askAgain = true;
    if (!this.#asking) void this.#ask();
  }

  async #ask(): Promise<void> {
    const { clock, signal, currentRevision, onRevision } = this.#options;
    this.#asking = true;
    while (this.#askAgain && !signal.aborted) {
      this.#askAgain = false;
      try {
        onRevision(await currentRevision());
      } catch {
        this.#askAgain = true;
        await clock.sleep(RETRY_MS, signal).catch(() => undefined);
      }
    }
    this.#asking = false;
  }
}
