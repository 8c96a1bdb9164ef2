/** How much may be replaced at once, as a number or as a share of the whole. */
import { isPercent } from "#api/validation/names.ts";

/** The number that is written: 3 for `3` and for `"3%"`; 0 for a text that is neither. */
export function intOrPercentValue(value: number | string): number {
  if (typeof value === "number") return value;
  const digits = isPercent(value).length === 0 ? value.slice(0, -1) : value;
  return /^[-+]?[0-9]+$/.test(digits) ? Number(digits) : 0;
}
