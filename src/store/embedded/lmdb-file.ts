/**
 * The data directory: one LMDB file with the log, the state and the owner.
 *
 * `overlappingSync` is off: with it, LMDB acknowledges before it has flushed, and simulated power
 * cuts lost data. Off, a commit flushes its pages, then the page that points to them, and only then
 * is it done.
 */
import {
  chmodSync,
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
} from "node:fs";
import { dirname, join } from "node:path";
import {
  type Database,
  type DatabaseOptions,
  open,
  type RootDatabase,
  type Transaction,
} from "lmdb";
import { messageOf } from "#lib/caught.ts";
import { isAlive, type ProcessIdentity, thisProcess } from "#lib/process-identity.ts";
import { StoreError } from "#store/contract.ts";
import { EMPTY_STATE, type State } from "#store/local/engine.ts";
import { checkDataFile } from "./check-file.ts";
import { PackedValues } from "./packed-values.ts";
import { countPages } from "./page-counts.ts";
import { keepReserve, makeRoomToOpen } from "./reserve.ts";
import { decodePosition, decodeRowHead, encodePosition, type RowHead } from "./row.ts";

export interface LmdbFile extends AsyncDisposable {
  readonly root: RootDatabase<Uint8Array, Uint8Array>;
  /** Position → row, see row.ts. */
  readonly log: Database<Uint8Array, Uint8Array>;
  /** The same table, for reading without the values. */
  readonly logHeads: Database<RowHead, number>;
  /** The same table, for reading only the values, many of them. */
  readonly logValues: Database<Uint8Array, Uint8Array>;
  readonly path: string;
}

export const STATE_KEY = Buffer.from("state");
const OWNER_KEY = Buffer.from("owner");
/**
 * Of the rows and of the state; raised when either changes. The first commit after opening writes it,
 * so that a file of format 2, which can be read, becomes one of format 3 with its first new row.
 */
const FORMAT = 3;
const OLDEST_FORMAT = 2;

/** Address space, not disk or memory: the file may grow up to here. */
const MAP_BYTES = 256 * 2 ** 30;

export interface OpenOptions {
  /** It was closed by `shrinkLmdbFile`, so that it belongs to this process all the time. */
  readonly stillOwned?: boolean;
  /** Something was stored there before: `Corrupt` if the file is missing or holds nothing. */
  readonly mustExist?: boolean;
}

/**
 * Throws `InUse` if another process has the directory, `Corrupt` if it holds something else.
 */
export function openLmdbFile(
  directory: string,
  { stillOwned = false, mustExist = false }: OpenOptions,
): LmdbFile {
  const path = join(directory, "data.mdb");
  // What was rewritten by this process a moment ago is sound.
  if (!stillOwned) checkDataFile(path, { mustExist });
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  makeRoomToOpen(directory, () => existsSync(path) && hasRoom(directory, path));
  const file = openTables(directory, path, false);
  try {
    chmodSync(path, 0o600);
    chmodSync(join(directory, "lock.mdb"), 0o600);
    if (!stillOwned) own(file, directory);
    keepReserve(directory);
  } catch (error) {
    void file.root.close();
    throw error;
  }
  return file;
}

/** Opens it read-only, also while another process has it open. Throws `Corrupt` if it is no store. */
export function openToRead(directory: string): LmdbFile {
  return openTables(directory, join(directory, "data.mdb"), true);
}

/** Rewrites the file without its free pages. The file is closed; open it again. */
export async function shrinkLmdbFile(file: LmdbFile): Promise<void> {
  const directory = dirname(file.path);
  const copy = join(directory, "smaller");
  rmSync(copy, { recursive: true, force: true });
  mkdirSync(copy, { mode: 0o700 });
  await file.root.backup(copy, true);
  syncToDisk(join(copy, "data.mdb"));
  await file.root.close();
  renameSync(join(copy, "data.mdb"), file.path);
  rmdirSync(copy);
  syncToDisk(directory);
}

export function fileBytes({ path }: LmdbFile): number {
  return statSync(path).size;
}

export function encodeState({ revision, compactRevision }: State): Buffer {
  const bytes = Buffer.allocUnsafe(24);
  bytes.writeDoubleLE(FORMAT, 0);
  bytes.writeDoubleLE(revision, 8);
  bytes.writeDoubleLE(compactRevision, 16);
  return bytes;
}

/** The sizes are not stored: they follow from the log. */
export function readState({ root, path }: LmdbFile, transaction?: Transaction): State {
  const bytes = root.get(STATE_KEY, transaction === undefined ? {} : { transaction });
  if (bytes === undefined) return EMPTY_STATE;
  const row = Buffer.from(bytes);
  const format = row.readDoubleLE(0);
  if (format < OLDEST_FORMAT || format > FORMAT) throw otherFormat(path, format);
  return {
    ...EMPTY_STATE,
    revision: row.readDoubleLE(8),
    compactRevision: row.readDoubleLE(16),
  };
}

export function corrupt(message: string, cause?: unknown): StoreError {
  return new StoreError({ code: "Corrupt" }, message, { cause });
}

/** Snapshots have a format of their own, which lasts. */
function otherFormat(path: string, format: number): StoreError {
  return corrupt(
    `${path} has format ${format}; this program knows ${OLDEST_FORMAT} to ${FORMAT}. ` +
      "Let the program that wrote it make a snapshot, and restore that",
  );
}

const SPARE_PAGES = 32;

/** Looks without writing. */
function hasRoom(directory: string, path: string): boolean {
  const file = openTables(directory, path, true);
  const { used, pageBytes } = countPages(file);
  void file.root.close();
  return statSync(path).size >= (used + SPARE_PAGES) * pageBytes;
}

function openTables(directory: string, path: string, readOnly: boolean): LmdbFile {
  try {
    const root = open<Uint8Array, Uint8Array>({
      path: directory,
      noSubdir: false, // by itself it takes a directory with a dot in its name for a file
      readOnly,
      overlappingSync: false,
      noMemInit: true,
      mapSize: MAP_BYTES,
      maxDbs: 4,
      encoding: "binary",
      keyEncoding: "binary",
    });
    const log = root.openDB<Uint8Array, Uint8Array>({
      name: "log",
      encoding: "binary",
      keyEncoding: "binary",
    });
    // Given a row in memory that is used again for the next, they read what they need at once.
    const logHeads = root.openDB<RowHead, number>("log", {
      keyEncoder: {
        readKey: decodePosition,
        writeKey: (position: number, into: Buffer, start: number) =>
          start + encodePosition(position, into.subarray(start)).length,
      },
      encoder: { encode: (row: unknown) => row, decode: decodeRowHead },
    } as DatabaseOptions);
    const packed = new PackedValues();
    const logValues = root.openDB<Uint8Array, Uint8Array>("log", {
      keyEncoding: "binary",
      encoder: { encode: (row: unknown) => row, decode: (row: Uint8Array) => packed.copyOf(row) },
    } as DatabaseOptions);
    return { root, log, logHeads, logValues, path, [Symbol.asyncDispose]: () => close(root) };
  } catch (error) {
    throw corrupt(`${path} cannot be opened as a store: ${messageOf(error)}`, error);
  }
}

/**
 * One process a data directory. The owner is written into the data itself, within a transaction of
 * LMDB, whose lock is shared by processes and survives their death: of two that come at once, one
 * wins.
 */
function own({ root }: LmdbFile, directory: string): void {
  const other = root.transactionSync((): ProcessIdentity | undefined => {
    const bytes = root.get(OWNER_KEY);
    const owner = bytes && (JSON.parse(Buffer.from(bytes).toString()) as ProcessIdentity);
    if (owner !== undefined && isAlive(owner)) return owner;
    root.putSync(OWNER_KEY, Buffer.from(JSON.stringify(thisProcess())));
    return undefined;
  });
  if (other === undefined) return;
  const who = other.pid === process.pid ? "this process" : `process ${other.pid}`;
  throw new StoreError({ code: "InUse" }, `${directory} is in use by ${who}`);
}

async function close(root: RootDatabase<Uint8Array, Uint8Array>): Promise<void> {
  root.transactionSync(() => root.removeSync(OWNER_KEY));
  await root.close();
}

function syncToDisk(path: string): void {
  const descriptor = openSync(path, "r");
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
