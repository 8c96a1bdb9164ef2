/** Pages in use and free, from the counters that LMDB keeps of each of its trees. */
import type { PageCounts } from "./disk-room.ts";
import type { LmdbFile } from "./lmdb-file.ts";

export function countPages({ root, log }: LmdbFile): PageCounts & { readonly pageBytes: number } {
  const stats = log.getStats() as LmdbStats;
  const main = root.getStats() as LmdbStats;
  const used = stats.lastPageNumber + 1;
  const inTrees = treePages(stats) + treePages(main) + treePages(stats.free);
  return {
    used,
    free: Math.max(0, used - META_PAGES - inTrees),
    tree: stats.treeBranchPageCount + stats.treeLeafPageCount,
    pageBytes: stats.pageSize,
  };
}

const META_PAGES = 2;

/** Statistics of LMDB that its types do not declare. */
interface TreeStats {
  readonly pageSize: number;
  readonly treeBranchPageCount: number;
  readonly treeLeafPageCount: number;
  readonly overflowPages: number;
}

interface LmdbStats extends TreeStats {
  readonly lastPageNumber: number;
  readonly free: TreeStats;
}

function treePages({ treeBranchPageCount, treeLeafPageCount, overflowPages }: TreeStats): number {
  return treeBranchPageCount + treeLeafPageCount + overflowPages;
}
