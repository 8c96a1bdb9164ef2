/** Amounts of resources are kept in thousandths at the finest. */
import { formatQuantity, quantityFrom, quantityOf } from "#api/meta/quantity.ts";

const MILLI = -3;

/** Rounds finer amounts away from zero, in place. */
export function roundToMillis(list: Record<string, string> | undefined): void {
  if (list === undefined) return;
  for (const [name, text] of Object.entries(list)) {
    const { mantissa, exponent, format } = quantityOf(text);
    if (exponent >= MILLI) continue;
    const unit = 10n ** BigInt(MILLI - exponent);
    const whole = BigInt(mantissa);
    const rounded = whole / unit + (whole % unit === 0n ? 0n : whole < 0n ? -1n : 1n);
    list[name] = formatQuantity(quantityFrom(rounded, format, MILLI));
  }
}
