/**
 * Turns waiting writes into commits.
 *
 * Promises:
 * 1. Writes are decided and committed in the order in which they were handed in, one commit at a
 *    time. Those that wait together share a commit; an idle committer starts at once.
 * 2. A write is answered after its commit, and after `onCommit` has run for it.
 * 3. A failed commit changes nothing: its writes reject, the next ones are tried as usual.
 * 4. Compaction rides along: each commit sweeps a bounded number of changes, so that writes never
 *    wait for a long sweep.
 */
import { microtasksDone } from "#lib/async/microtasks-done.ts";
import type { Clock } from "#lib/time/clock.ts";
import { type Operation, StoreError, type TransactAnswer } from "#store/contract.ts";
import type { Commit, Engine } from "./engine.ts";
import { planCommit } from "./plan-commit.ts";
import { Sweeper } from "./sweeper.ts";

const GROUP_WRITES_MAX = 1_024;
const GROUP_BYTES_MAX = 16 * 1024 * 1024;

export interface CommitterOptions {
  readonly engine: Engine;
  readonly clock: Clock;
  /** Runs between a commit and its acknowledgements. Must not throw. */
  onCommit(commit: Commit): void;
  /** Runs when a commit did not fit on the disk; may compact to make room. Must not throw. */
  onFullDisk(): void;
}

/** A promise would do, but this is the path of every write: each one saved counts. */
export interface PendingWrite {
  readonly operations: readonly Operation[];
  resolve(answer: TransactAnswer): void;
  reject(error: unknown): void;
}

export class Committer {
  readonly #options: CommitterOptions;
  #writes: PendingWrite[] = [];
  #sweeps: PendingSweep[] = [];
  readonly #sweeper = new Sweeper();
  #compactRevision: number;
  #running = false;
  #closed: StoreError | undefined;
  #whenIdle: (() => void) | undefined;

  constructor(options: CommitterOptions) {
    this.#options = options;
    this.#compactRevision = options.engine.view.state.compactRevision;
  }

  submit(write: PendingWrite): void {
    if (this.#closed !== undefined) {
      write.reject(this.#closed);
      return;
    }
    this.#writes.push(write);
    if (!this.#running) void this.#run();
  }

  /** Whether everything that was given up is gone. */
  get isSwept(): boolean {
    const { view } = this.#options.engine;
    if (view.state.compactRevision !== this.#compactRevision) return false;
    return this.#sweeper.isDone(view, this.#compactRevision);
  }

  /** Resolves when everything that `revision` overtook is gone. */
  compact(revision: number): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.#closed !== undefined) return reject(this.#closed);
      this.#compactRevision = Math.max(this.#compactRevision, revision);
      this.#sweeps.push({ resolve, reject });
      if (!this.#running) void this.#run();
    });
  }

  /** Lets what was handed in be committed and refuses what comes after. */
  async close(reason: StoreError): Promise<void> {
    this.#closed = reason;
    this.#endSweeps(reason);
    if (!this.#running) return;
    await new Promise<void>((resolve) => {
      this.#whenIdle = resolve;
    });
  }

  /** Never rejects. Where the engine commits at once it is over when the call returns. */
  async #run(): Promise<void> {
    this.#running = true;
    const { engine } = this.#options;
    // Writes of the same synchronous code share a commit; a single write is hardly delayed.
    if (engine.commitsTakeTime) await undefined;
    for (let first = true; this.#writes.length > 0 || this.#sweeps.length > 0; first = false) {
      // The writers that were just answered may want to join those that are waiting.
      if (engine.commitsTakeTime && !first) await microtasksDone();
      const group = this.#takeGroup();
      try {
        const committing = this.#commit(group);
        if (committing !== undefined) await committing;
      } catch (error) {
        if (isNoSpace(error)) await this.#makeRoomAndCommit(group);
        else for (const { reject } of group) reject(error);
        if (!this.isSwept) this.#endSweeps(error);
      }
      if (this.isSwept) this.#endSweeps();
    }
    this.#running = false;
    this.#whenIdle?.();
  }

  /**
   * What does not fit as a whole may do so in part, after history was given up (`onFullDisk`) and all
   * that is obsolete was swept: then each write is tried by itself.
   */
  async #makeRoomAndCommit(group: readonly PendingWrite[]): Promise<void> {
    this.#options.onFullDisk();
    try {
      do await this.#commit([]);
      while (!this.isSwept);
    } catch {
      // The sweep does not fit either; a deletion still may.
    }
    for (const write of group) {
      try {
        await this.#commit([write]);
      } catch (error) {
        write.reject(error);
      }
    }
  }

  #commit(group: readonly PendingWrite[]): Promise<void> | undefined {
    const { engine, clock, onCommit } = this.#options;
    const { view } = engine;
    const sweep = this.#sweeper.next(view, this.#compactRevision, group.length);
    const plan = planCommit(view, group, sweep, this.#compactRevision, clock.nowMs());
    const finish = (): void => {
      this.#sweeper.done(sweep);
      if (plan.commit !== undefined) onCommit(plan.commit);
      for (let index = 0; index < group.length; index++) {
        group[index]!.resolve(plan.answers[index]!);
      }
    };
    if (plan.commit === undefined) return void finish();
    return whenDone(engine.commit(plan.commit), finish);
  }

  #takeGroup(): PendingWrite[] {
    let bytes = 0;
    let size = 0;
    while (size < this.#writes.length && size < GROUP_WRITES_MAX && bytes < GROUP_BYTES_MAX) {
      for (const operation of this.#writes[size]!.operations) {
        if (operation.op === "put") bytes += operation.value.length;
      }
      size += 1;
    }
    const group = this.#writes;
    this.#writes = group.splice(size);
    return group;
  }

  #endSweeps(error?: unknown): void {
    for (const { resolve, reject } of this.#sweeps.splice(0)) {
      if (error === undefined) resolve();
      else reject(error);
    }
  }
}

export function closedError(): StoreError {
  return new StoreError({ code: "Closed" }, "the store is closed");
}

function isNoSpace(error: unknown): boolean {
  return error instanceof StoreError && error.problem.code === "NoSpace";
}

interface PendingSweep {
  resolve(): void;
  reject(error: unknown): void;
}

/** Goes on at once if there is nothing to wait for. */
function whenDone(work: Promise<void> | undefined, next: () => void): Promise<void> | undefined {
  if (work !== undefined) return work.then(next);
  next();
  return undefined;
}
