/** The rows of a message in which those that the page has already are named by their uid. */
import type { Row } from "../../src/dashboard/table/table-rows.ts";

/** `before`: the rows of the last message. */
export function wholeRows(rows: readonly (Row | string)[], before: readonly Row[]): readonly Row[] {
  const known = new Map(before.map((row) => [row.uid, row]));
  return rows.flatMap((row) => (typeof row === "string" ? (known.get(row) ?? []) : [row]));
}
