/**
 * Moves the focus from row to row of a table: to the link of the next row (`step` 1) or the one before (-1),
 * or of the first in view if no row has it. Returns false if there is none.
 */
export function focusRow(within: Element | null, step: 1 | -1): boolean {
  const now = document.activeElement?.closest("tr[aria-rowindex]");
  const next =
    now === null || now === undefined
      ? firstInView(within)
      : step === 1
        ? now.nextElementSibling
        : now.previousElementSibling;
  const link = next?.querySelector("a");
  link?.focus();
  return link !== undefined && link !== null;
}

/** Rows above the view have elements too. */
function firstInView(within: Element | null): Element | undefined {
  const head = within?.querySelector("thead")?.getBoundingClientRect().bottom ?? 0;
  const rows = [...(within?.querySelectorAll("tr[aria-rowindex]") ?? [])];
  return rows.find((row) => row.getBoundingClientRect().top >= head - 1);
}
