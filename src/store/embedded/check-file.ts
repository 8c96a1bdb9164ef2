/**
 * Looks at a data file before LMDB does, because LMDB's library crashes on what is not its own, on
 * damaged pages, and when the missing part of a file that is shorter than it says is read.
 */
import { closeSync, fstatSync, openSync, readSync, unlinkSync } from "node:fs";
import { codeOf } from "#lib/caught.ts";
import { StoreError } from "#store/contract.ts";
import { type Damage, findDamages } from "./check-pages.ts";
import { type Description, isDescription, readDescription, SECTOR_BYTES } from "./lmdb-format.ts";

const PAGE_SIZES = [4_096, 8_192, 16_384, 32_768, 65_536];

export interface CheckOptions {
  /** Something was stored there before: a file without data is not taken for a new one. */
  readonly mustExist?: boolean;
  /** How many damaged pages to look for; the first will do. */
  readonly damagesMax?: number;
}

/**
 * Throws `Corrupt` if the file is not sound. A file that lost power before its first commit, and so
 * never held anything, is removed.
 */
export function checkDataFile(path: string, options: CheckOptions = {}): void {
  const { mustExist = false, damagesMax = 1 } = options;
  const descriptor = openIfThere(path);
  if (descriptor === undefined) {
    if (mustExist) throw corrupt(path, "it is missing");
    return;
  }
  let unborn = false;
  try {
    const { size } = fstatSync(descriptor);
    unborn = size > 0 && isUnborn(descriptor, path, size, damagesMax);
    if (mustExist && size === 0) throw corrupt(path, "it is empty");
    if (mustExist && unborn) throw corrupt(path, "it holds nothing");
  } finally {
    closeSync(descriptor);
  }
  if (unborn) unlinkSync(path);
}

function isUnborn(descriptor: number, path: string, size: number, damagesMax: number): boolean {
  const first = readSector(descriptor, 0);
  const pageBytes = isDescription(first) ? readDescription(first).pageBytes : undefined;
  const candidates = pageBytes === undefined ? PAGE_SIZES : [pageBytes];
  const offset = candidates.find((at) => isDescription(readSector(descriptor, at)));
  if (isDescription(first) && offset !== undefined) {
    checkContents(descriptor, offset, path, size, damagesMax);
    return false;
  }
  // One of the two is always there once something has been committed.
  const blank = [0, ...candidates].map((at) => readSector(descriptor, at));
  if (blank.every((sector) => isDescription(sector) || isZero(sector))) return true;
  throw corrupt(path, "it is something else");
}

/** Another process that writes meanwhile moves pages about: then what was found does not count. */
const TRIES_MAX = 3;

function checkContents(
  descriptor: number,
  secondAt: number,
  path: string,
  size: number,
  damagesMax: number,
): void {
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    const newest = newestDescription(descriptor, secondAt);
    const needed = (newest.lastPage + 1) * newest.pageBytes;
    if (needed > size) throw corrupt(path, `${size} of ${needed} bytes are there`);
    const damages = findDamages(descriptor, newest, damagesMax);
    if (damages.length === 0) return;
    if (newestDescription(descriptor, secondAt).transaction !== newest.transaction) continue;
    throw corrupt(path, damages.map(wordsOf).join("; "));
  }
}

function wordsOf({ page, what }: Damage): string {
  return `page ${page} is damaged: ${what}`;
}

function newestDescription(descriptor: number, secondAt: number): Description {
  const [first, second] = [0, secondAt].map((at) => readDescription(readSector(descriptor, at)));
  return first!.transaction > second!.transaction ? first! : second!;
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
