/** The text of a cell of a list. Pure. */
import type { Row } from "../../src/dashboard/table/table-rows.ts";
import { ageOf } from "./age.ts";
import type { ShownColumn } from "./shown-columns.ts";

export function cellText(row: Row, { by, isName }: ShownColumn, nowMs: number): string {
  if (by === "namespace") return row.namespace;
  if (by === "created") return ageOf(row.createdAt, nowMs);
  const value = row.cells[by];
  const text = value === null || value === undefined ? "" : String(value);
  return isName && text === "" ? row.name : text;
}
