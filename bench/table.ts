/** The text that the benchmark runner prints. */
import type { Row } from "./row.ts";

export function formatRows(rows: readonly Row[]): string {
  const cells = rows.map((row) => [
    row.name,
    `${figure(row.value)} ${row.unit}`,
    row.limit === undefined ? "" : `${figure(row.limit)} ${row.limitName ?? "limit"}`,
    ratioOf(row) === undefined ? "" : `${figure(ratioOf(row)!)}×`,
    row.target === undefined ? "" : `${higherIsBetter(row) ? "≥" : "≤"} ${row.target}`,
    isMissed(row) ? "MISSED" : "",
  ]);
  const widths = [0, 1, 2, 3, 4].map((i) => Math.max(...cells.map((c) => c[i]!.length), 0));
  return cells
    .map((c) => `  ${c.map((text, i) => text.padEnd(widths[i] ?? 0)).join("  ")}`.trimEnd())
    .map((line) => `${line}\n`)
    .join("");
}

export function ratioOf(row: Row): number | undefined {
  if (row.ratio !== undefined) return row.ratio;
  return row.limit === undefined || row.limit === 0 ? undefined : row.value / row.limit;
}

/** Rates are better when higher, everything else (times, sizes) when lower. */
export function higherIsBetter({ unit }: Row): boolean {
  return unit.endsWith("/s");
}

export function isMissed(row: Row): boolean {
  const ratio = ratioOf(row);
  if (row.target === undefined || ratio === undefined) return false;
  return higherIsBetter(row) ? ratio < row.target : ratio > row.target;
}

export function figure(value: number): string {
  if (Number.isInteger(value) || Math.abs(value) >= 1000)
    return Math.round(value).toLocaleString("en");
  return value.toPrecision(3);
}
