/** Deletes keys whose time to live is over. One timer, set for the key that ends first. */
import type { Clock, Timer } from "#lib/time/clock.ts";
import type { Operation, TransactAnswer } from "#store/contract.ts";
import { type Head, revisionOf, type Step, type View } from "./engine.ts";

/** How many deletions are handed in at once. */
const DELETIONS_MAX = 500;
/** After a commit that failed, e.g. on a full disk. */
const RETRY_MS = 5_000;

export interface ExpiryOptions {
  readonly clock: Clock;
  view(): View;
  submit(operations: readonly Operation[]): Promise<TransactAnswer>;
}

export class Expiry implements Disposable {
  readonly #options: ExpiryOptions;
  #timer: Timer | undefined;
  #dueAtMs = Number.POSITIVE_INFINITY;
  #deleting = false;
  #disposed = false;

  constructor(options: ExpiryOptions) {
    this.#options = options;
  }

  start(): void {
    const [first] = this.#options.view().keys.expiring();
    if (first !== undefined) this.#arm(first.expiresAtMs);
  }

  notice(steps: readonly Step[]): void {
    for (const { change } of steps) {
      if (change.expiresAtMs > 0 && change.expiresAtMs < this.#dueAtMs)
        this.#arm(change.expiresAtMs);
    }
  }

  [Symbol.dispose](): void {
    this.#disposed = true;
    this.#timer?.cancel();
  }

  #arm(dueAtMs: number): void {
    if (this.#deleting || this.#disposed) return;
    this.#timer?.cancel();
    this.#dueAtMs = dueAtMs;
    const { clock } = this.#options;
    this.#timer = clock.schedule(dueAtMs - clock.nowMs(), () => void this.#deleteDue());
  }

  async #deleteDue(): Promise<void> {
    this.#deleting = true;
    this.#dueAtMs = Number.POSITIVE_INFINITY;
    const { clock, view, submit } = this.#options;
    // Each on the condition that the key was not written since: then it has a new time to live.
    const results = await Promise.allSettled(
      due(view(), clock.nowMs()).map(({ key, position }) =>
        submit([{ op: "delete", key, expectRevision: revisionOf(position) }]),
      ),
    );
    this.#deleting = false;
    const failed = results.some(({ status }) => status === "rejected");
    if (this.#disposed) return;
    if (failed) this.#arm(clock.nowMs() + RETRY_MS);
    else this.start();
  }
}

function due(view: View, nowMs: number): Head[] {
  const heads: Head[] = [];
  for (const head of view.keys.expiring()) {
    if (head.expiresAtMs > nowMs || heads.length === DELETIONS_MAX) break;
    heads.push(head);
  }
  return heads;
}
