/**
 * Looks at a data file before LMDB does, because LMDB's library crashes on what is not its own, and
 * a file that is shorter than it says would crash the process when the missing part is read.
 *
 * The first two pages hold one description of the file each, written in turns. From byte 24 of the
 * page: magic and version (uint32), address and map size (uint64), two trees of 48 bytes of which
 * the first begins with the page size (uint32), last page and transaction (uint64).
 */
import { closeSync, fstatSync, openSync, readSync, unlinkSync } from "node:fs";
import { codeOf } from "#lib/caught.ts";
import { StoreError } from "#store/contract.ts";

const SECTOR_BYTES = 512;
const MAGIC = 0xbeefc0de;
const VERSION = 2;
const PAGE_SIZES = [4_096, 8_192, 16_384, 32_768, 65_536];

/**
 * Throws `Corrupt` if the file is not sound. A file that lost power before its first commit, and so
 * never held anything, is removed.
 */
export function checkDataFile(path: string): void {
  const descriptor = openIfThere(path);
  if (descriptor === undefined) return;
  let unborn = false;
  try {
    const { size } = fstatSync(descriptor);
    unborn = size > 0 && isUnborn(descriptor, path, size);
  } finally {
    closeSync(descriptor);
  }
  if (unborn) unlinkSync(path);
}

function isUnborn(descriptor: number, path: string, size: number): boolean {
  const first = readSector(descriptor, 0);
  const pageBytes = isDescription(first) ? first.readUInt32LE(48) : undefined;
  const candidates = pageBytes === undefined ? PAGE_SIZES : [pageBytes];
  const second = candidates.map((offset) => readSector(descriptor, offset)).find(isDescription);
  if (isDescription(first) && second !== undefined) {
    checkLength([first, second], path, size);
    return false;
  }
  // One of the two is always there once something has been committed.
  const blank = [0, ...candidates].map((offset) => readSector(descriptor, offset));
  if (blank.every((sector) => isDescription(sector) || isZero(sector))) return true;
  throw corrupt(path, "it is something else");
}

function checkLength(descriptions: readonly Buffer[], path: string, size: number): void {
  const [newest] = descriptions.toSorted((a, b) => Number(transactionOf(b) - transactionOf(a)));
  const pages = newest!.readBigUInt64LE(144) + 1n;
  const needed = pages * BigInt(newest!.readUInt32LE(48));
  if (needed > BigInt(size)) throw corrupt(path, `${size} of ${needed} bytes are there`);
}

function transactionOf(description: Buffer): bigint {
  return description.readBigUInt64LE(152);
}

function isDescription(sector: Buffer): boolean {
  return sector.readUInt32LE(24) === MAGIC && sector.readUInt32LE(28) === VERSION;
}

function isZero(sector: Buffer): boolean {
  return sector.every((byte) => byte === 0);
}

/** Zeros where the file has ended. */
function readSector(descriptor: number, offset: number): Buffer {
  const sector = Buffer.alloc(SECTOR_BYTES);
  readSync(descriptor, sector, 0, SECTOR_BYTES, offset);
  return sector;
}

function openIfThere(path: string): number | undefined {
  try {
    return openSync(path, "r");
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined;
    throw error;
  }
}

function corrupt(path: string, what: string): StoreError {
  return new StoreError({ code: "Corrupt" }, `${path} cannot be opened as a store: ${what}`);
}
