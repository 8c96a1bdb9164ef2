/**
 * Where things are in an LMDB data file. Numbers are little-endian.
 *
 * A page begins with its number (uint64), a transaction (uint64), two unused bytes, flags (uint16) and
 * the bounds of its free space (two uint16): 24 bytes, from whose end all offsets within the page are
 * counted. In pages of a tree the offsets of the nodes follow (uint16 each). A node has 32 bits of length or page number, 16 bits of flags or the upper part
 * of the page number, the length of its key (uint16), the key and its data.
 *
 * The first two pages describe the file, in turns. From byte 24: magic and version (uint32), address
 * and map size (uint64), the trees of the free pages and of the data, of which the first begins with
 * the page size, last page and transaction (uint64).
 */
export const SECTOR_BYTES = 512;
const MAGIC = 0xbeefc0de;
const VERSION = 2;

export const PAGE_HEADER_BYTES = 24;
export const NODE_HEADER_BYTES = 8;
export const META_PAGES = 2;

export const BRANCH_PAGE = 0x01;
export const LEAF_PAGE = 0x02;

/** The data is the number of the first overflow page, a transaction, and how many pages there are. */
export const NODE_BIG = 0x01;
/** The data is a tree. */
export const NODE_TREE = 0x02;

export interface Tree {
  readonly depth: number;
  readonly branchPages: number;
  readonly leafPages: number;
  readonly entries: number;
  /** Undefined where the tree is empty. */
  readonly root: number | undefined;
}

export const TREE_BYTES = 48;

export function readTree(bytes: Buffer, offset: number): Tree {
  const root = bytes.readBigUInt64LE(offset + 40);
  return {
    depth: bytes.readUInt16LE(offset + 6),
    branchPages: Number(bytes.readBigUInt64LE(offset + 8)),
    leafPages: Number(bytes.readBigUInt64LE(offset + 16)),
    entries: Number(bytes.readBigUInt64LE(offset + 32)),
    root: root === NO_PAGE ? undefined : Number(root),
  };
}

const NO_PAGE = 2n ** 64n - 1n;

export interface Description {
  readonly pageBytes: number;
  readonly freePages: Tree;
  readonly data: Tree;
  readonly lastPage: number;
  readonly transaction: bigint;
}

export function isDescription(sector: Buffer): boolean {
  return sector.readUInt32LE(24) === MAGIC && sector.readUInt32LE(28) === VERSION;
}

export function readDescription(sector: Buffer): Description {
  return {
    pageBytes: sector.readUInt32LE(48),
    freePages: readTree(sector, 48),
    data: readTree(sector, 96),
    lastPage: Number(sector.readBigUInt64LE(144)),
    transaction: sector.readBigUInt64LE(152),
  };
}
