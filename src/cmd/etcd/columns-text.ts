/** Rows of cells as lines with aligned columns. */
export function columnsText(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) =>
    Math.max(...rows.map((row) => row[column]?.length ?? 0)),
  );
  return rows
    .map((row) => row.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join("   "))
    .map((line) => `${line.trimEnd()}\n`)
    .join("");
}
