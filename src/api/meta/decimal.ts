/**
 * Whole numbers for quantities: plain ones while they are safe, bigints beyond. A Decimal is
 * mantissa × 10^exponent.
 */
export interface Decimal {
  readonly mantissa: number | bigint;
  readonly exponent: number;
}

export function divideAwayFromZero(
  value: bigint,
  places: number,
): { quotient: bigint; exact: boolean } {
  const sign = value < 0n ? -1n : 1n;
  if (places > digitCount(value))
    return { quotient: value === 0n ? 0n : sign, exact: value === 0n };
  const divisor = 10n ** BigInt(places);
  const quotient = value / divisor;
  const exact = quotient * divisor === value;
  return { quotient: exact ? quotient : quotient + sign, exact };
}

/** The mantissa at a smaller exponent. */
export function scaleUp({ mantissa, exponent }: Decimal, to: number): bigint {
  return BigInt(mantissa) * 10n ** BigInt(exponent - to);
}

export function digitCount(value: number | bigint): number {
  const text = String(value);
  return text.length - (text[0] === "-" ? 1 : 0);
}

export function narrow(value: number | bigint): number | bigint {
  if (typeof value === "number") return value;
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value;
}

export function negate(value: number | bigint): number | bigint {
  return typeof value === "bigint" ? narrow(-value) : value === 0 ? 0 : -value;
}

export function order(a: number | bigint, b: number | bigint): -1 | 0 | 1 {
  return a < b ? -1 : a > b ? 1 : 0;
}
