/**
 * The widths of a table's columns in characters. They are set, not left to the browser, which would measure
 * every cell again whenever a row changes. They only grow, so that columns do not jump while rows come and
 * go. Pure.
 */
import type { Row } from "../../src/dashboard/table/table-rows.ts";
import { cellText } from "./cell-text.ts";
import type { ShownColumn } from "./shown-columns.ts";

const WIDTH_MIN = 6;
const WIDTH_MAX = 60;
/** For the space beside the text and the arrow of the order. */
const PADDING = 3;

/** By the name of the column. */
export type ColumnWidths = ReadonlyMap<string, number>;

/** The same map if the texts of these rows fit. */
export function widened(
  widths: ColumnWidths,
  columns: readonly ShownColumn[],
  rows: readonly Row[],
  nowMs: number,
): ColumnWidths {
  const wider = new Map(widths);
  let isWider = false;
  for (const column of columns) {
    const needed = neededBy(column, rows, nowMs);
    if (needed <= (widths.get(column.name) ?? 0)) continue;
    wider.set(column.name, needed);
    isWider = true;
  }
  return isWider ? wider : widths;
}

function neededBy(column: ShownColumn, rows: readonly Row[], nowMs: number): number {
  let longest = Math.max(WIDTH_MIN, column.name.length);
  for (const row of rows) longest = Math.max(longest, cellText(row, column, nowMs).length);
  return Math.min(WIDTH_MAX, longest + PADDING);
}
