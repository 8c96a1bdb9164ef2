/**
 * The engine on disk: the log is in LMDB, everything else follows from it and is rebuilt when the
 * store is opened.
 *
 * A commit is one LMDB transaction, carried out by a thread of its own; it is done when it is on
 * disk. Reads use the snapshot that the last commit left, so they see neither half of a commit nor
 * wait for one.
 */
import type { Database, Transaction } from "lmdb";
import { StoreError } from "#store/contract.ts";
import type { Change, Commit, Engine, Log, State, View } from "#store/local/engine.ts";
import { KeyIndex } from "#store/local/key-index.ts";
import { account } from "#store/local/plan-commit.ts";
import {
  corrupt,
  encodeState,
  fileBytes,
  type LmdbFile,
  openLmdbFile,
  readState,
  STATE_KEY,
  shrinkLmdbFile,
} from "./lmdb-file.ts";
import { decodePosition, decodeRow, encodePosition, encodeRow } from "./row.ts";

/** A file this much bigger than what it holds is rewritten when it is opened. */
const SHRINK_FACTOR = 4;
const SHRINK_BYTES_MIN = 64 * 1024 * 1024;

export async function openLmdbEngine(directory: string): Promise<LmdbEngine> {
  const engine = LmdbEngine.open(directory);
  if (!engine.wasteful) return engine;
  await engine.shrink();
  return LmdbEngine.open(directory);
}

export class LmdbEngine implements Engine {
  readonly commitsTakeTime = true;
  readonly #file: LmdbFile;
  readonly #keys: KeyIndex;
  #state: State;
  #snapshot: Snapshot;
  #holds = 0;
  #whenReleased: (() => void) | undefined;

  private constructor(file: LmdbFile, state: State, keys: KeyIndex, snapshot: Snapshot) {
    this.#file = file;
    this.#state = state;
    this.#keys = keys;
    this.#snapshot = snapshot;
  }

  static open(directory: string): LmdbEngine {
    const file = openLmdbFile(directory);
    try {
      const snapshot = new Snapshot(file);
      const { state, keys } = rebuild(readState(file), snapshot);
      return new LmdbEngine(file, state, keys, snapshot);
    } catch (error) {
      void file[Symbol.asyncDispose]();
      throw error instanceof RangeError ? corrupt(`${file.path}: ${error.message}`, error) : error;
    }
  }

  get wasteful(): boolean {
    const { liveBytes, historyBytes } = this.#state;
    const neededBytes = SHRINK_FACTOR * (liveBytes + historyBytes);
    return fileBytes(this.#file) > Math.max(SHRINK_BYTES_MIN, neededBytes);
  }

  /** Ends this engine. */
  async shrink(): Promise<void> {
    this.#snapshot.release();
    await shrinkLmdbFile(this.#file);
  }

  get view(): View {
    return { state: this.#state, keys: this.#keys, log: this.#snapshot };
  }

  hold(): View & Disposable {
    const snapshot = this.#snapshot.share();
    this.#holds += 1;
    return {
      state: this.#state,
      keys: this.#keys.fork(),
      log: snapshot,
      [Symbol.dispose]: () => {
        snapshot.release();
        this.#holds -= 1;
        if (this.#holds === 0) this.#whenReleased?.();
      },
    };
  }

  async commit({ state, sweep, steps }: Commit): Promise<void> {
    const { root, log } = this.#file;
    try {
      await root.batch(() => {
        for (const position of sweep.positions) void log.remove(encodePosition(position));
        for (const { change } of steps) {
          void log.put(encodePosition(change.position), encodeRow(change));
        }
        void root.put(STATE_KEY, encodeState(state));
      });
    } catch (error) {
      throw await toStoreError(error);
    }
    this.#state = state;
    this.#keys.sweep(sweep);
    for (const step of steps) this.#keys.apply(step);
    this.#snapshot.release();
    this.#snapshot = new Snapshot(this.#file);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#holds > 0) {
      await new Promise<void>((resolve) => {
        this.#whenReleased = resolve;
      });
    }
    this.#snapshot.release();
    await this.#file[Symbol.asyncDispose]();
  }
}

/** The log as one commit left it. Lives until each of its users has let go of it. */
class Snapshot implements Log {
  readonly #log: Database<Uint8Array, Uint8Array>;
  readonly #transaction: Transaction;
  #users = 1;

  constructor({ root, log }: LmdbFile) {
    root.resetReadTxn(); // otherwise it may be the one that an earlier snapshot uses
    this.#log = log;
    this.#transaction = root.useReadTransaction();
  }

  share(): Snapshot {
    this.#users += 1;
    return this;
  }

  release(): void {
    this.#users -= 1;
    if (this.#users === 0) this.#transaction.done();
  }

  change(position: number): Change | undefined {
    const row = this.#log.get(encodePosition(position), { transaction: this.#transaction });
    return row && decodeRow(position, row);
  }

  *changes(from: number, to: number): Iterable<Change> {
    const rows = this.#log.getRange({
      start: encodePosition(from),
      end: encodePosition(to),
      transaction: this.#transaction,
    });
    for (const { key, value } of rows) yield decodeRow(decodePosition(key), value);
  }
}

function rebuild(stored: State, log: Log): { state: State; keys: KeyIndex } {
  const keys = KeyIndex.create();
  let state = stored;
  for (const change of log.changes(0, Number.MAX_SAFE_INTEGER)) {
    const step = { change, replaced: keys.head(change.key) };
    keys.apply(step);
    state = account(state, [step]);
  }
  return { state, keys };
}

const MDB_MAP_FULL = -30_792;

/** What LMDB reports about a failed commit comes in a second promise. */
async function toStoreError(error: unknown): Promise<StoreError> {
  const { commitError } = error as { commitError?: Promise<never> };
  const cause: unknown = (await commitError?.catch((reason: unknown) => reason)) ?? error;
  const { code, message } = cause as { code?: unknown; message?: string };
  if (code === MDB_MAP_FULL || code === 28 || /no space left/i.test(message ?? "")) {
    return new StoreError({ code: "NoSpace" }, "the disk is full: nothing was written", { cause });
  }
  const text = `the disk refused the write: ${message}`;
  return new StoreError({ code: "Unavailable", maybeApplied: true }, text, { cause });
}
