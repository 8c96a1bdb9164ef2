/**
 * Which rows of a long table have elements in the page: those in view and some on both sides, so that a
 * frame of scrolling changes few of them. Pure.
 */
export interface RenderedRows {
  readonly first: number;
  /** The row after the last one. */
  readonly end: number;
}

/** Ranges begin and end at multiples of this: scrolling by a few rows changes nothing. */
const BLOCK_ROWS = 8;

export function renderedRows(view: {
  readonly scrollPx: number;
  readonly heightPx: number;
  readonly rowPx: number;
  readonly count: number;
}): RenderedRows {
  const { scrollPx, heightPx, rowPx, count } = view;
  const firstBlock = Math.floor(scrollPx / rowPx / BLOCK_ROWS) - 1;
  const endBlock = Math.ceil((scrollPx + heightPx) / rowPx / BLOCK_ROWS) + 1;
  const end = Math.max(0, Math.min(count, endBlock * BLOCK_ROWS));
  return { first: Math.max(0, Math.min(end, firstBlock * BLOCK_ROWS)), end };
}
