/**
 * The file of a snapshot: all keys of a store at one revision, the same for every implementation.
 * Numbers are little-endian; doubles are exact for integers up to 2^53.
 *
 *   header   "k8ts-snapshot-1\n", revision (double), time of writing in ms (double)
 *   entries  in key order, each: key length and value length (uint32), createRevision, modRevision,
 *            version, expiresAtMs or 0 (double), key, value
 *   footer   0xffffffff (uint32), number of entries (double), SHA-256 of everything before it
 */
export const MAGIC = Buffer.from("k8ts-snapshot-1\n");
export const HEADER_BYTES = MAGIC.length + 16;
export const ENTRY_HEAD_BYTES = 40;
export const END_MARK = 0xffffffff;
/** The mark and the count, without the hash. */
export const FOOTER_BYTES = 12;
export const HASH_BYTES = 32;

export interface SnapshotHeader {
  readonly revision: number;
  readonly writtenAtMs: number;
}

export interface SnapshotEntry {
  readonly key: string;
  readonly value: Uint8Array;
  readonly createRevision: number;
  readonly modRevision: number;
  readonly version: number;
  /** 0: never. */
  readonly expiresAtMs: number;
}

export function encodeHeader({ revision, writtenAtMs }: SnapshotHeader): Buffer {
  const bytes = Buffer.alloc(HEADER_BYTES);
  MAGIC.copy(bytes);
  bytes.writeDoubleLE(revision, MAGIC.length);
  bytes.writeDoubleLE(writtenAtMs, MAGIC.length + 8);
  return bytes;
}

export function decodeHeader(bytes: Buffer): SnapshotHeader {
  return {
    revision: bytes.readDoubleLE(MAGIC.length),
    writtenAtMs: bytes.readDoubleLE(MAGIC.length + 8),
  };
}

export function encodeEntry(entry: SnapshotEntry): Buffer {
  const keyBytes = Buffer.byteLength(entry.key);
  const bytes = Buffer.allocUnsafe(ENTRY_HEAD_BYTES + keyBytes + entry.value.length);
  bytes.writeUInt32LE(keyBytes, 0);
  bytes.writeUInt32LE(entry.value.length, 4);
  bytes.writeDoubleLE(entry.createRevision, 8);
  bytes.writeDoubleLE(entry.modRevision, 16);
  bytes.writeDoubleLE(entry.version, 24);
  bytes.writeDoubleLE(entry.expiresAtMs, 32);
  bytes.write(entry.key, ENTRY_HEAD_BYTES);
  bytes.set(entry.value, ENTRY_HEAD_BYTES + keyBytes);
  return bytes;
}

/** `head` is the fixed part, `body` the key and the value. */
export function decodeEntry(head: Buffer, body: Buffer): SnapshotEntry {
  const keyBytes = head.readUInt32LE(0);
  return {
    key: body.toString("utf8", 0, keyBytes),
    value: body.subarray(keyBytes),
    createRevision: head.readDoubleLE(8),
    modRevision: head.readDoubleLE(16),
    version: head.readDoubleLE(24),
    expiresAtMs: head.readDoubleLE(32),
  };
}

export function encodeFooter(entries: number): Buffer {
  const bytes = Buffer.alloc(FOOTER_BYTES);
  bytes.writeUInt32LE(END_MARK, 0);
  bytes.writeDoubleLE(entries, 4);
  return bytes;
}
