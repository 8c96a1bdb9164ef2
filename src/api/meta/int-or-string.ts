/** Fields that hold a number or a text: ports by name, and counts as a percentage of a total. */
import { goQuote } from "./go-quote.ts";

export type IntOrString = number | string;

export type ScaledValue =
  | { readonly ok: true; readonly value: number }
  | { readonly ok: false; readonly error: string };

const INT_MAX = 2n ** 63n - 1n;

/** A number as it is; a percentage of the total, rounded up or down. */
export function scaledIntOrPercent(
  value: IntOrString,
  total: number,
  rounding: "up" | "down",
): ScaledValue {
  if (typeof value === "number") return { ok: true, value };
  const invalid = (why: string): ScaledValue => ({
    ok: false,
    error: `invalid value for IntOrString: ${why}`,
  });
  if (!value.endsWith("%")) return invalid("invalid type: string is not a percentage");
  const digits = value.slice(0, -1);
  const fault = atoiFault(digits);
  if (fault !== undefined) return invalid(`invalid value ${goQuote(value)}: ${fault}`);
  const share = (Number(digits) * total) / 100;
  return { ok: true, value: rounding === "up" ? Math.ceil(share) : Math.floor(share) };
}

/** Why Go's Atoi refuses a text; undefined if it does not. */
function atoiFault(text: string): string | undefined {
  const fault = (why: string) => `strconv.Atoi: parsing ${goQuote(text)}: ${why}`;
  if (!/^[-+]?[0-9]+$/.test(text)) return fault("invalid syntax");
  const significant = text.replace(/^[-+]?0*/, "");
  const tooLarge = significant.length > 19 || BigInt(significant) > INT_MAX;
  return tooLarge ? fault("value out of range") : undefined;
}
