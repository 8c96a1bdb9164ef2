/**
 * The engine on disk: the log is in LMDB, everything else follows from it and is rebuilt when the
 * store is opened.
 *
 * A commit is one LMDB transaction, carried out by a thread of its own; it is done when it is on
 * disk. Reads never wait for it. They may already see its rows in the log, which does no harm: what
 * it adds is not in the index yet, and what it sweeps cannot be asked for, because a compaction
 * counts from the moment its commit begins.
 */
import type { Database, Transaction } from "lmdb";
import { StoreError } from "#store/contract.ts";
import {
  type Change,
  type Commit,
  type Engine,
  type Log,
  revisionOf,
  type State,
  type View,
} from "#store/local/engine.ts";
import { KeyIndex } from "#store/local/key-index.ts";
import { movedBytes } from "#store/local/plan-commit.ts";
import { DiskRoom } from "./disk-room.ts";
import { ForkEngine } from "./fork-engine.ts";
import {
  corrupt,
  encodeState,
  fileBytes,
  type LmdbFile,
  type OpenOptions,
  openLmdbFile,
  readState,
  STATE_KEY,
  shrinkLmdbFile,
} from "./lmdb-file.ts";
import { countPages } from "./page-counts.ts";
import {
  decodePosition,
  decodeRow,
  encodePosition,
  RowEncoder,
  type RowHead,
  valueIn,
} from "./row.ts";

/** Each takes one of LMDB's places for readers. */
const FORKS_MAX = 16;

interface HeldFork {
  readonly bytesMax: number;
  overgrown(): void;
}

/** A file this much bigger than what it holds is rewritten when it is opened. */
const SHRINK_FACTOR = 4;
const SHRINK_BYTES_MIN = 64 * 1024 * 1024;

export async function openLmdbEngine(
  directory: string,
  { mustExist = false }: Pick<OpenOptions, "mustExist"> = {},
): Promise<LmdbEngine> {
  const engine = await LmdbEngine.open(directory, { mustExist });
  if (!engine.wasteful) return engine;
  await engine.shrink();
  return await LmdbEngine.open(directory, { stillOwned: true });
}

export class LmdbEngine implements Engine {
  readonly commitsTakeTime = true;
  readonly #file: LmdbFile;
  readonly #log: LmdbLog;
  readonly #keys: KeyIndex;
  readonly #room: DiskRoom;
  readonly #encoder = new RowEncoder();
  readonly #key = Buffer.alloc(8); // LMDB copies keys, so one will do
  readonly #forks = new Set<HeldFork>();
  #state: State;
  /** What the row of the state says. */
  #storedCompactRevision: number | undefined;
  #holds = 0;
  #whenReleased: (() => void) | undefined;

  private constructor(file: LmdbFile, state: State, keys: KeyIndex, room: DiskRoom) {
    this.#file = file;
    this.#log = new LmdbLog(file);
    this.#state = state;
    this.#keys = keys;
    this.#room = room;
  }

  static async open(directory: string, options: OpenOptions): Promise<LmdbEngine> {
    const file = openLmdbFile(directory, options);
    try {
      const { state, keys } = rebuildFrom(file);
      const { path } = file;
      const { pageBytes } = countPages(file);
      const room = await DiskRoom.open({ path, pageBytes, count: () => countPages(file) });
      return new LmdbEngine(file, state, keys, room);
    } catch (error) {
      await file[Symbol.asyncDispose]();
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
    await this.#room[Symbol.asyncDispose]();
    await shrinkLmdbFile(this.#file);
  }

  get view(): View {
    return { state: this.#state, keys: this.#keys, log: this.#log };
  }

  hold(): View & Disposable {
    const transaction = this.#file.root.useReadTransaction();
    this.#holds += 1;
    return {
      state: this.#state,
      keys: this.#keys.fork(),
      log: new LmdbLog(this.#file, transaction),
      [Symbol.dispose]: () => {
        transaction.done();
        this.#holds -= 1;
        if (this.#holds === 0) this.#whenReleased?.();
      },
    };
  }

  /**
   * A fork with memory of its own on top of what is there now. While it is held, LMDB cannot use any
   * page again that was in use when the fork was made: the file grows by the pages that commits
   * change. `overgrown` is called once, when it has grown by more than `growthBytesMax`.
   */
  fork(growthBytesMax: number, overgrown: () => void): ForkEngine {
    if (this.#forks.size >= FORKS_MAX) {
      const message = `the store has ${FORKS_MAX} forks already`;
      throw new StoreError({ code: "Unavailable", maybeApplied: false }, message);
    }
    const held = this.hold();
    const fork: HeldFork = { bytesMax: this.#usedBytes() + growthBytesMax, overgrown };
    this.#forks.add(fork);
    return new ForkEngine({
      ...held,
      [Symbol.dispose]: () => {
        this.#forks.delete(fork);
        held[Symbol.dispose]();
      },
    });
  }

  #endOvergrownForks(): void {
    if (this.#forks.size === 0) return;
    const bytes = this.#usedBytes();
    for (const fork of this.#forks) {
      if (bytes <= fork.bytesMax) continue;
      this.#forks.delete(fork);
      fork.overgrown();
    }
  }

  /** Up to the last page in use: what lies behind it is room for commits to come. */
  #usedBytes(): number {
    const { used, pageBytes } = countPages(this.#file);
    return used * pageBytes;
  }

  async commit({ state, sweep, steps }: Commit): Promise<void> {
    const { root, log } = this.#file;
    const changes = steps.map(({ change }) => change);
    const rows = this.#encoder.encode(changes);
    const size = { rowBytes: rows.map((row) => row.length), removals: sweep.rows.length };
    const deletesOnly = changes.every(({ deleted }) => deleted);
    const waiting = this.#room.admit(size, deletesOnly);
    if (waiting !== undefined) await waiting;
    const key = this.#key;
    const stateIsStale = this.#storedCompactRevision !== state.compactRevision;
    this.#state = { ...this.#state, compactRevision: state.compactRevision };
    try {
      const committing = root.batch(() => {
        for (const { position } of sweep.rows) void log.remove(encodePosition(position, key));
        for (let index = 0; index < rows.length; index++) {
          void log.put(encodePosition(changes[index]!.position, key), rows[index]!);
        }
        if (stateIsStale) void root.put(STATE_KEY, encodeState(state));
      });
      this.#room.lookAhead();
      await committing;
    } catch (error) {
      throw await toStoreError(error);
    }
    this.#state = state;
    this.#storedCompactRevision = state.compactRevision;
    this.#keys.sweep(sweep);
    for (const step of steps) this.#keys.apply(step);
    this.#endOvergrownForks();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#holds > 0) {
      await new Promise<void>((resolve) => {
        this.#whenReleased = resolve;
      });
    }
    await this.#room[Symbol.asyncDispose]();
    await this.#file[Symbol.asyncDispose]();
  }
}

/** The log as it is in `transaction`, or else as it is now. */
export class LmdbLog implements Log {
  readonly #log: Database<Uint8Array, Uint8Array>;
  readonly #values: Database<Uint8Array, Uint8Array>;
  readonly #options: { readonly transaction?: Transaction };
  readonly #key = Buffer.allocUnsafe(8); // LMDB copies keys, so one will do

  constructor({ log, logValues }: LmdbFile, transaction?: Transaction) {
    this.#log = log;
    this.#values = logValues;
    this.#options = transaction === undefined ? {} : { transaction };
  }

  change(position: number): Change | undefined {
    const row = this.#log.get(encodePosition(position, this.#key), this.#options);
    return row && decodeRow(position, row);
  }

  value(position: number, packed = false): Uint8Array | undefined {
    const key = encodePosition(position, this.#key);
    if (packed) return this.#values.get(key, this.#options);
    const row = this.#log.get(key, this.#options);
    return row && valueIn(row);
  }

  *changes(from: number, to: number): Iterable<Change> {
    const [start, end] = [encodePosition(from), encodePosition(to)];
    const rows = this.#log.getRange({ start, end, ...this.#options });
    for (const { key, value } of rows) yield decodeRow(decodePosition(key), value);
  }
}

const NO_VALUE = new Uint8Array();

/**
 * The index, the sizes and the newest revision follow from the log. Where the newest rows have been
 * swept, the revision was stored with the compaction that allowed it.
 */
export function rebuildFrom(
  file: LmdbFile,
  transaction?: Transaction,
): { state: State; keys: KeyIndex } {
  const options = transaction === undefined ? {} : { transaction };
  const stored = readState(file, transaction);
  let { revision, liveBytes, historyBytes } = stored;
  const keys = KeyIndex.ofLog(changesOf(file.logHeads.getRange(options)), (step) => {
    revision = Math.max(revision, revisionOf(step.change.position));
    const moved = movedBytes(step);
    liveBytes += moved.live;
    historyBytes += moved.history;
  });
  return { state: { ...stored, revision, liveBytes, historyBytes }, keys };
}

function* changesOf(
  rows: Iterable<{ readonly key: number; readonly value: RowHead }>,
): Iterable<Change> {
  for (const { key: position, value: head } of rows) {
    yield { ...head, position, value: NO_VALUE };
  }
}

/** What LMDB reports about a failed commit comes in a second promise. */
async function toStoreError(error: unknown): Promise<StoreError> {
  const { commitError } = error as { commitError?: Promise<never> };
  const cause: unknown = (await commitError?.catch((reason: unknown) => reason)) ?? error;
  const text = `the disk refused the write: ${(cause as Partial<Error>).message}`;
  return new StoreError({ code: "Unavailable", maybeApplied: true }, text, { cause });
}
