/**
 * Snapshots of a store in a file (snapshot-format.ts has its layout).
 *
 * Promises:
 * 1. `writeSnapshot` makes the whole file or none: it appears under its name once it is on disk.
 * 2. `verifySnapshot` proves a file sound: every byte is what was written (SHA-256), nothing is
 *    missing or added, keys are in order, no revision is above the snapshot's.
 * 3. `readSnapshot` hands out entries only of a file that has been verified.
 */
import { createHash, type Hash } from "node:crypto";
import { type FileHandle, open, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { type SnapshotSummary, StoreError } from "./contract.ts";
import {
  decodeEntry,
  decodeHeader,
  END_MARK,
  ENTRY_HEAD_BYTES,
  encodeEntry,
  encodeFooter,
  encodeHeader,
  FOOTER_BYTES,
  HASH_BYTES,
  HEADER_BYTES,
  MAGIC,
  type SnapshotEntry,
  type SnapshotHeader,
} from "./snapshot-format.ts";

const WRITE_BYTES = 1024 * 1024;
/** Far above what a store takes: lengths beyond them come from broken files. */
const KEY_BYTES_BOUND = 2 ** 16;
const VALUE_BYTES_BOUND = 2 ** 28;

export async function writeSnapshot(
  path: string,
  header: SnapshotHeader,
  entries: AsyncIterable<SnapshotEntry>,
  signal?: AbortSignal,
): Promise<SnapshotSummary> {
  const partial = `${path}.partial`;
  try {
    const summary = await writeFile(partial, header, entries, signal);
    await rename(partial, path);
    await syncDirectory(dirname(path));
    return summary;
  } catch (error) {
    await rm(partial, { force: true });
    throw error;
  }
}

/** Throws `Corrupt`, saying what is wrong. */
export async function verifySnapshot(path: string): Promise<SnapshotSummary> {
  for await (const item of scan(path)) if ("sha256" in item) return item;
  throw unsound(path, "it has no end");
}

export interface SnapshotLabel extends SnapshotHeader {
  readonly keys: number;
  readonly bytes: number;
}

/** What a file says of itself, without a proof: reads its beginning and its end only. */
export async function labelOfSnapshot(path: string): Promise<SnapshotLabel> {
  await using file = await open(path);
  const { size } = await file.stat();
  const endBytes = FOOTER_BYTES + HASH_BYTES;
  if (size < HEADER_BYTES + endBytes) throw unsound(path, "it is too short");
  const first = Buffer.alloc(HEADER_BYTES);
  await file.read(first, 0, HEADER_BYTES, 0);
  if (!first.subarray(0, MAGIC.length).equals(MAGIC)) throw unsound(path, "it is no snapshot");
  const end = Buffer.alloc(endBytes);
  await file.read(end, 0, endBytes, size - endBytes);
  if (end.readUInt32LE(0) !== END_MARK) throw unsound(path, "it has no end");
  return { ...decodeHeader(first), keys: end.readDoubleLE(4), bytes: size };
}

/** The header, then the entries. Reads the file twice, the first time to verify it. */
export async function openSnapshot(
  path: string,
): Promise<{ header: SnapshotHeader; entries: AsyncIterable<SnapshotEntry> }> {
  await verifySnapshot(path);
  await using file = await open(path);
  const bytes = await new Chunks(file, path).take(HEADER_BYTES);
  return { header: decodeHeader(bytes), entries: entriesOf(path) };
}

async function writeFile(
  path: string,
  header: SnapshotHeader,
  entries: AsyncIterable<SnapshotEntry>,
  signal: AbortSignal | undefined,
): Promise<SnapshotSummary> {
  await using file = await open(path, "w", 0o600);
  const hash = createHash("sha256");
  let waiting: Buffer[] = [];
  let waitingBytes = 0;
  let [keys, bytes] = [0, 0];
  const flush = async (): Promise<void> => {
    const block = Buffer.concat(waiting, waitingBytes);
    hash.update(block);
    [waiting, waitingBytes] = [[], 0];
    bytes += block.length;
    await file.writeFile(block);
  };
  const add = (part: Buffer): void => {
    waiting.push(part);
    waitingBytes += part.length;
  };
  add(encodeHeader(header));
  for await (const entry of entries) {
    signal?.throwIfAborted();
    add(encodeEntry(entry));
    keys += 1;
    if (waitingBytes >= WRITE_BYTES) await flush();
  }
  add(encodeFooter(keys));
  await flush();
  const digest = hash.digest();
  await file.writeFile(digest);
  await file.sync();
  return {
    revision: header.revision,
    keys,
    bytes: bytes + digest.length,
    sha256: digest.toString("hex"),
  };
}

async function* entriesOf(path: string): AsyncIterable<SnapshotEntry> {
  for await (const item of scan(path)) if ("key" in item) yield item;
}

/** The entries, then the summary; throws as soon as something is wrong. */
async function* scan(path: string): AsyncGenerator<SnapshotEntry | SnapshotSummary, void> {
  await using file = await open(path);
  const chunks = new Chunks(file, path);
  const first = await chunks.take(HEADER_BYTES);
  if (!first.subarray(0, MAGIC.length).equals(MAGIC)) throw unsound(path, "it is no snapshot");
  const { revision } = decodeHeader(first);
  let keys = 0;
  let last: SnapshotEntry | undefined;
  for (;;) {
    const lengths = await chunks.peek(4);
    if (lengths.readUInt32LE(0) === END_MARK) break;
    const head = await chunks.take(ENTRY_HEAD_BYTES);
    const [keyBytes, valueBytes] = [head.readUInt32LE(0), head.readUInt32LE(4)];
    if (keyBytes > KEY_BYTES_BOUND || valueBytes > VALUE_BYTES_BOUND) {
      throw unsound(path, `entry ${keys + 1} has an impossible length`);
    }
    const body = await chunks.take(keyBytes + valueBytes);
    const entry = decodeEntry(head, body);
    const fault = faultOf(entry, last, revision);
    if (fault !== undefined) throw unsound(path, `${JSON.stringify(entry.key)} ${fault}`);
    yield entry;
    last = entry;
    keys += 1;
  }
  const counted = (await chunks.take(FOOTER_BYTES)).readDoubleLE(4);
  if (counted !== keys) throw unsound(path, `it has ${keys} keys and says ${counted}`);
  const sha256 = chunks.digest();
  const written = (await chunks.take(HASH_BYTES)).toString("hex");
  if (written !== sha256) throw unsound(path, "its bytes are not those that were written");
  if (!(await chunks.atEnd())) throw unsound(path, "something follows its end");
  yield { revision, keys, bytes: chunks.taken, sha256 };
}

function faultOf(
  { key, createRevision, modRevision, version }: SnapshotEntry,
  last: SnapshotEntry | undefined,
  revision: number,
): string | undefined {
  if (key === "") return "is no key";
  if (last !== undefined && Buffer.compare(Buffer.from(last.key), Buffer.from(key)) >= 0) {
    return "is out of order";
  }
  if (!(createRevision >= 1 && createRevision <= modRevision && modRevision <= revision)) {
    return `has revisions ${createRevision} and ${modRevision} at revision ${revision}`;
  }
  return version >= 1 ? undefined : `has version ${version}`;
}

/** A file read from front to back, hashing what is taken. */
class Chunks {
  readonly #file: FileHandle;
  readonly #path: string;
  readonly #hash: Hash = createHash("sha256");
  #buffer: Buffer = Buffer.alloc(0);
  taken = 0;

  constructor(file: FileHandle, path: string) {
    this.#file = file;
    this.#path = path;
  }

  async peek(length: number): Promise<Buffer> {
    await this.#fill(length);
    if (this.#buffer.length < length) throw unsound(this.#path, "it is cut short");
    return this.#buffer.subarray(0, length);
  }

  async take(length: number): Promise<Buffer> {
    const bytes = await this.peek(length);
    this.#hash.update(bytes);
    this.#buffer = this.#buffer.subarray(length);
    this.taken += length;
    return bytes;
  }

  /** Of what has been taken so far. */
  digest(): string {
    return this.#hash.copy().digest("hex");
  }

  async atEnd(): Promise<boolean> {
    await this.#fill(1);
    return this.#buffer.length === 0;
  }

  async #fill(length: number): Promise<void> {
    while (this.#buffer.length < length) {
      const room = Buffer.allocUnsafe(Math.max(WRITE_BYTES, length - this.#buffer.length));
      const { bytesRead } = await this.#file.read(room);
      if (bytesRead === 0) return;
      this.#buffer = Buffer.concat([this.#buffer, room.subarray(0, bytesRead)]);
    }
  }
}

async function syncDirectory(path: string): Promise<void> {
  await using directory = await open(path);
  await directory.sync();
}

function unsound(path: string, what: string): StoreError {
  return new StoreError({ code: "Corrupt" }, `${path} is not a sound snapshot: ${what}`);
}
