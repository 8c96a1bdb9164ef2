/**
 * Makes sure that LMDB never meets a full disk: its library corrupts memory when a write fails. The
 * data file is extended with zeros before LMDB needs the room, by ordinary writes whose errors are
 * ordinary errors. Overwriting what has been allocated cannot run out of room.
 *
 * Promises:
 * 1. A commit is admitted only if all the pages it could possibly add fit into what the file has.
 * 2. The file is extended ahead of need, in the background; a commit waits for that only if it must.
 * 3. On a full disk `admit` fails with `NoSpace`. A last reserve is kept for commits that only
 *    delete, so that room can be made; what they free is used again.
 */
import { type FileHandle, open } from "node:fs/promises";
import { StoreError } from "#store/contract.ts";

export interface PageCounts {
  /** From the beginning of the file to the last page in use. */
  readonly used: number;
  /** Those among them that hold nothing any more. */
  readonly free: number;
  /** Those of the log's tree, without what rows of their own pages take. */
  readonly tree: number;
}

/** What a commit does to the log. */
export interface CommitSize {
  readonly rowBytes: readonly number[];
  readonly removals: number;
}

export interface DiskRoomOptions {
  readonly path: string;
  readonly pageBytes: number;
  count(): PageCounts;
}

const EXTEND_PAGES = 512;
const EXTEND_PAGES_MAX = 4_096;
const RESERVE_PAGES = 128;
/** With so many free pages in the file, new ones are not taken from its end. */
const PLENTY_FREE_PAGES = 1_024;
/**
 * Pages written at once. The page cache may keep a long write as one large folio, and then each page
 * that LMDB changes later costs as much as the folio: measured, a third of the throughput.
 */
const ZEROS_PAGES = 4;
/** The answer to each write waits for a turn of the event loop, which may be long. */
const WRITES_AT_ONCE = 32;

export class DiskRoom implements AsyncDisposable {
  readonly #options: DiskRoomOptions;
  readonly #file: FileHandle;
  /** Allocated for certain. */
  #endPages: number;
  /** At most so many pages are in use, and in the log's tree. */
  #usedPagesMax = 0;
  #treePagesMax = 0;
  /** What the last commit adds to each of them at most. */
  #lastPages = 0;
  #lastRows = 0;
  #extending: Promise<void> | undefined;

  private constructor(options: DiskRoomOptions, file: FileHandle, endPages: number) {
    this.#options = options;
    this.#file = file;
    this.#endPages = endPages;
    this.#count();
  }

  static async open(options: DiskRoomOptions): Promise<DiskRoom> {
    const file = await open(options.path, "r+");
    const { size } = await file.stat();
    return new DiskRoom(options, file, Math.floor(size / options.pageBytes));
  }

  /** Nothing to wait for if it returns undefined. */
  admit(size: CommitSize, deletesOnly: boolean): Promise<void> | undefined {
    const { pageBytes } = this.#options;
    let pages = pagesAdded(size, this.#treePagesMax, pageBytes);
    if (!this.#fits(pages + RESERVE_PAGES)) {
      this.#count();
      pages = pagesAdded(size, this.#treePagesMax, pageBytes);
    }
    this.#lastPages = pages;
    this.#lastRows = size.rowBytes.length;
    this.#treePagesMax += this.#lastRows;
    if (!this.#fits(pages + RESERVE_PAGES)) return this.#admitLater(pages, deletesOnly);
    this.#usedPagesMax += pages;
    return undefined;
  }

  /** To be called while the disk is busy with the commit: makes room for the next. */
  lookAhead(): void {
    const pages = this.#lastPages;
    const ahead = pages + RESERVE_PAGES;
    if (this.#extending !== undefined || this.#fits(ahead)) return;
    this.#count(); // which may or may not see the commit
    this.#usedPagesMax += pages;
    this.#treePagesMax += this.#lastRows;
    if (!this.#fits(ahead)) void this.#extend(pages).catch(() => undefined);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#extending?.catch(() => undefined);
    await this.#file.close();
  }

  async #admitLater(pages: number, deletesOnly: boolean): Promise<void> {
    let fault: unknown;
    while (!this.#fits(pages + RESERVE_PAGES)) {
      try {
        await this.#extend(pages);
      } catch (error) {
        fault = error;
        break;
      }
    }
    const { free } = this.#count();
    this.#treePagesMax += this.#lastRows;
    const spare = deletesOnly ? 0 : free >= PLENTY_FREE_PAGES ? RESERVE_PAGES / 4 : RESERVE_PAGES;
    if (!this.#fits(pages + spare)) {
      const message = "the disk is full: nothing was written";
      throw new StoreError({ code: "NoSpace" }, message, { cause: fault });
    }
    this.#usedPagesMax += pages;
  }

  #count(): PageCounts {
    const counts = this.#options.count();
    this.#usedPagesMax = counts.used;
    this.#treePagesMax = counts.tree;
    return counts;
  }

  #fits(pages: number): boolean {
    return this.#usedPagesMax + pages <= this.#endPages;
  }

  /** Until so many pages fit, and some more. */
  #extend(pages: number): Promise<void> {
    const missing = this.#usedPagesMax + pages + RESERVE_PAGES - this.#endPages;
    this.#extending ??= this.#writeZeros(missing + EXTEND_PAGES).finally(() => {
      this.#extending = undefined;
    });
    return this.#extending;
  }

  async #writeZeros(pages: number): Promise<void> {
    const zeros = Buffer.alloc(ZEROS_PAGES * this.#options.pageBytes);
    let left = Math.min(EXTEND_PAGES_MAX, pages);
    while (left > 0) {
      const writes: Promise<number>[] = [];
      for (let start = 0; start < left && writes.length < WRITES_AT_ONCE; start += ZEROS_PAGES) {
        writes.push(this.#writePages(zeros, start, Math.min(left - start, ZEROS_PAGES)));
      }
      const before = this.#endPages;
      for (const write of await Promise.allSettled(writes)) {
        if (write.status === "rejected") throw write.reason;
        this.#endPages += write.value;
        if (write.value < ZEROS_PAGES) break; // what is behind a gap does not count
      }
      if (this.#endPages === before) throw new Error("no room for another page");
      left -= this.#endPages - before;
    }
  }

  /** Returns how many were written; `start` counts from what is allocated. */
  async #writePages(zeros: Buffer, start: number, pages: number): Promise<number> {
    const { pageBytes } = this.#options;
    const position = (this.#endPages + start) * pageBytes;
    const { bytesWritten } = await this.#file.write(zeros, 0, pages * pageBytes, position);
    return Math.floor(bytesWritten / pageBytes);
  }
}

/**
 * The most pages that a commit can add. A row takes the pages that its bytes fill, and may put one
 * more into the tree; a row that is removed changes a page of the tree and one above it, unless
 * another has done so; lists of free pages and the upper levels of the tree are in the constant.
 */
export function pagesAdded(
  { rowBytes, removals }: CommitSize,
  treePages: number,
  pageBytes: number,
): number {
  let pages =
    64 + Math.min(2 * removals, treePages) + Math.ceil((removals + rowBytes.length) / 100);
  for (const bytes of rowBytes) pages += 1 + Math.ceil((bytes + 64) / pageBytes);
  return pages;
}
