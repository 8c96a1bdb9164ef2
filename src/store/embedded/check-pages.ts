/**
 * Looks at every page of the trees in an LMDB file, because LMDB's library ends the process, or reads
 * memory that is not its own, when it meets a damaged one. Only what leads to the rows is read, not the
 * overflow pages that hold long rows.
 *
 * A page is sound if it is where its number says, of the kind that its place in the tree asks for, used
 * once, and if all its nodes lie within it with their keys in order. A tree is sound if it has as many
 * pages and entries as its description says.
 */
import { readSync } from "node:fs";
import {
  BRANCH_PAGE,
  type Description,
  LEAF_PAGE,
  META_PAGES,
  NODE_BIG,
  NODE_HEADER_BYTES,
  NODE_TREE,
  PAGE_HEADER_BYTES,
  readTree,
  TREE_BYTES,
  type Tree,
} from "./lmdb-format.ts";

export interface Damage {
  readonly page: number;
  readonly what: string;
}

/** Stops after `max` damages. */
export function findDamages(descriptor: number, description: Description, max: number): Damage[] {
  const walk = new Walk(descriptor, description, max);
  walk.check("the list of free pages", description.freePages, "keys are numbers");
  walk.check("the data", description.data, "keys are bytes");
  return walk.damages;
}

/** Pages of a tree often follow each other, so that one read brings many. */
const WINDOW_PAGES = 16;
const DEPTH_MAX = 32;

class Walk {
  readonly damages: Damage[] = [];
  readonly #descriptor: number;
  readonly #description: Description;
  readonly #max: number;
  readonly #seen: Uint8Array;
  readonly #window: Buffer;
  #windowStart = Number.NEGATIVE_INFINITY;
  #windowPages = 0;

  constructor(descriptor: number, description: Description, max: number) {
    this.#descriptor = descriptor;
    this.#description = description;
    this.#max = max;
    this.#seen = new Uint8Array(description.lastPage + 1);
    this.#window = Buffer.alloc(WINDOW_PAGES * description.pageBytes);
  }

  check(name: string, tree: Tree, keys: Keys): void {
    if (tree.root === undefined) return;
    const before = this.damages.length;
    if (tree.depth < 1 || tree.depth > DEPTH_MAX) {
      this.#report(tree.root, `${name}: a tree of depth ${tree.depth}`);
      return;
    }
    const found: Found = { keys, branchPages: 0, leafPages: 0, entries: 0 };
    this.#checkPage(tree.root, tree.depth, found);
    if (this.damages.length > before) return; // the counts follow from that
    for (const key of ["branchPages", "leafPages", "entries"] as const) {
      if (found[key] !== tree[key]) {
        this.#report(tree.root, `${name}: ${found[key]} of ${tree[key]} ${COUNT_NAMES[key]}`);
      }
    }
  }

  #checkPage(number: number, depth: number, found: Found): void {
    if (this.damages.length >= this.#max || !this.#use(number, 1)) return;
    const page = this.#read(number);
    const wanted = depth === 1 ? LEAF_PAGE : BRANCH_PAGE;
    if (readNumber(page, 0) !== number || page.readUInt16LE(18) !== wanted) {
      this.#report(number, depth === 1 ? "it is no leaf of a tree" : "it is no branch of a tree");
      return;
    }
    const nodes = nodesOf(page);
    if (nodes === undefined) {
      this.#report(number, "its contents do not lie within it");
      return;
    }
    if (found.keys === "keys are bytes" && !inOrder(page, nodes, depth > 1)) {
      this.#report(number, "its keys are not in order");
    }
    if (depth === 1) {
      found.leafPages += 1;
      found.entries += nodes.length;
      this.#checkRows(number, page, nodes);
      return;
    }
    found.branchPages += 1;
    // Read before the window moves on.
    const children = nodes.map((at) => page.readUInt16LE(at + 4) * 2 ** 32 + page.readUInt32LE(at));
    for (const child of children) this.#checkPage(child, depth - 1, found);
  }

  #checkRows(number: number, page: Buffer, nodes: readonly number[]): void {
    const trees: { readonly name: string; readonly tree: Tree }[] = [];
    for (const at of nodes) {
      const bytes = page.readUInt32LE(at);
      const flags = page.readUInt16LE(at + 4);
      const data = at + NODE_HEADER_BYTES + page.readUInt16LE(at + 6);
      const isBig = (flags & NODE_BIG) !== 0;
      const isTree = (flags & NODE_TREE) !== 0;
      const within = data + (isBig ? OVERFLOW_BYTES : bytes) <= page.length;
      if (!within || (isTree && bytes !== TREE_BYTES)) {
        this.#report(number, "a row does not lie within it");
      } else if (isTree) {
        const name = page.toString("latin1", at + NODE_HEADER_BYTES, data);
        trees.push({ name: `the table ${JSON.stringify(name)}`, tree: readTree(page, data) });
      } else if (isBig) {
        const pages = readNumber(page, data + 16);
        if (pages * page.length < bytes) this.#report(number, "a row is cut short");
        else this.#use(readNumber(page, data), pages);
      }
    }
    for (const { name, tree } of trees) this.check(name, tree, "keys are bytes");
  }

  /** False if one of the pages cannot be, or belongs to something else. */
  #use(first: number, count: number): boolean {
    if (!(first >= META_PAGES && first + count - 1 <= this.#description.lastPage)) {
      this.#report(first, "it is beyond the end of the file");
      return false;
    }
    for (let number = first; number < first + count; number++) {
      if (this.#seen[number] === 1) {
        this.#report(number, "it is used twice");
        return false;
      }
      this.#seen[number] = 1;
    }
    return true;
  }

  /** Valid until the next call. */
  #read(number: number): Buffer {
    const { pageBytes } = this.#description;
    let index = number - this.#windowStart;
    if (!(index >= 0 && index < this.#windowPages)) {
      // Reading ahead pays only where pages follow each other.
      const ahead = index === this.#windowPages;
      const bytes = ahead ? this.#window.length : pageBytes;
      readSync(this.#descriptor, this.#window, 0, bytes, number * pageBytes);
      this.#windowStart = number;
      this.#windowPages = bytes / pageBytes;
      index = 0;
    }
    return this.#window.subarray(index * pageBytes, (index + 1) * pageBytes);
  }

  #report(page: number, what: string): void {
    if (this.damages.length < this.#max) this.damages.push({ page, what });
  }
}

/** Only bytes are in the order that a comparison of bytes finds. */
type Keys = "keys are numbers" | "keys are bytes";

interface Found {
  readonly keys: Keys;
  branchPages: number;
  leafPages: number;
  entries: number;
}

const COUNT_NAMES = { branchPages: "branches", leafPages: "leaves", entries: "rows" };
const OVERFLOW_BYTES = 24;

/** Where the nodes are; undefined unless all of them, with their keys, lie within the page. */
function nodesOf(page: Buffer): number[] | undefined {
  // Counted from the end of the header, as the offsets.
  const lower = page.readUInt16LE(20);
  const upper = page.readUInt16LE(22);
  const sound = lower > 0 && lower % 2 === 0 && lower <= upper;
  if (!sound || upper + PAGE_HEADER_BYTES > page.length) return undefined;
  const nodes: number[] = [];
  for (let at = 0; at < lower; at += 2) {
    const relative = page.readUInt16LE(PAGE_HEADER_BYTES + at);
    const node = PAGE_HEADER_BYTES + relative;
    if (relative < upper || node + NODE_HEADER_BYTES > page.length) return undefined;
    if (node + NODE_HEADER_BYTES + page.readUInt16LE(node + 6) > page.length) return undefined;
    nodes.push(node);
  }
  return nodes;
}

/** LMDB does not look at the first key of a branch. */
function inOrder(page: Buffer, nodes: readonly number[], isBranch: boolean): boolean {
  for (let i = isBranch ? 2 : 1; i < nodes.length; i++) {
    const a = nodes[i - 1]! + NODE_HEADER_BYTES;
    const b = nodes[i]! + NODE_HEADER_BYTES;
    const [aEnd, bEnd] = [a + page.readUInt16LE(a - 2), b + page.readUInt16LE(b - 2)];
    if (page.compare(page, b, bEnd, a, aEnd) >= 0) return false;
  }
  return true;
}

/** A uint64; what is beyond 2^53 is no page anyway. */
function readNumber(page: Buffer, offset: number): number {
  return page.readUInt32LE(offset + 4) * 2 ** 32 + page.readUInt32LE(offset);
}
