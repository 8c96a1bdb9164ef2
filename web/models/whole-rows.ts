/** The rows of a message in which those that the page has already are named by their uid. */
import type { Row } from "../../src/dashboard/table/table-rows.ts";

/** `before`: the rows of the last message, which stay if `rows` are left out. */
export function wholeRows(
  rows: readonly (Row | string)[] | undefined,
  before: readonly Row[],
): readonly Row[] {
  if (rows === undefined) return before;
  const known = new Map(before.map((row) => [row.uid, row]));
  return rows.flatMap((row) => (typeof row === "string" ? (known.get(row) ?? []) : [row]));
}
