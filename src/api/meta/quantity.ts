/**
 * Resource quantities ("100m", "1.5Gi", "12e6"): exact decimal numbers that remember their notation.
 *
 * Promises:
 * 1. No amount ever passes through a floating point number; a mantissa that no longer fits a safe
 *    integer becomes a bigint and falls back when it fits again.
 * 2. Amounts finer than a nano are rounded away from zero; binary amounts are capped at 2^63 - 1.
 * 3. `formatQuantity` is what the API prints: the largest suffix that needs no fraction. A text that
 *    already looks canonical is kept as written (`+5`, `1.500`, `1E3`), and a decimal amount of 10^21
 *    or more loses its suffix: clients see both from the real server.
 * 4. Work is bounded by the length of the text, not by the size of its exponent, and texts
 *    of more than a few thousand digits are refused.
 */
import {
  type Decimal,
  digitCount,
  divideAwayFromZero,
  narrow,
  negate,
  order,
  scaleUp,
} from "./decimal.ts";

export type QuantityFormat = "DecimalSI" | "BinarySI" | "DecimalExponent";

export interface Quantity extends Decimal {
  readonly format: QuantityFormat;
  /** The text it was parsed from, where that is printed again. */
  readonly text: string | undefined;
}

export type ParsedQuantity =
  | { readonly ok: true; readonly value: Quantity }
  | { readonly ok: false; readonly error: string };

const WRONG_FORMAT =
  "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
const WRONG_NUMBER = "unable to parse numeric part of quantity";
const WRONG_SUFFIX = "unable to parse quantity's suffix";

const TEXT_LENGTH_MAX = 8192;
const NANO = -9;
const INT64_DIGITS = 18;
/** Digits of count and suffix together up to which a binary amount is kept as written. */
const BINARY_FAST_DIGITS = 14;
const INT64_MAX = 2n ** 63n - 1n;
/** Beyond this many places the smaller of two summands does not count. */
const EXPONENT_GAP_MAX = 4096;

const DECIMAL_SUFFIXES: ReadonlyMap<string, number> = new Map([
  ["n", -9],
  ["u", -6],
  ["m", -3],
  ["", 0],
  ["k", 3],
  ["M", 6],
  ["G", 9],
  ["T", 12],
  ["P", 15],
  ["E", 18],
]);
const BINARY_SUFFIXES: ReadonlyMap<string, number> = new Map([
  ["Ki", 10],
  ["Mi", 20],
  ["Gi", 30],
  ["Ti", 40],
  ["Pi", 50],
  ["Ei", 60],
]);
const DECIMAL_NAMES = inverse(DECIMAL_SUFFIXES);
const BINARY_NAMES = inverse(BINARY_SUFFIXES);

export const ZERO_QUANTITY: Quantity = Object.freeze({
  mantissa: 0,
  exponent: 0,
  format: "DecimalSI",
  text: "0",
});

export function parseQuantity(text: string): ParsedQuantity {
  if (text.length > TEXT_LENGTH_MAX) return { ok: false, error: WRONG_NUMBER };
  const parts = scan(text);
  if (parts === undefined) return { ok: false, error: WRONG_FORMAT };
  const suffix = interpretSuffix(parts.suffix);
  if (suffix === undefined) return { ok: false, error: WRONG_SUFFIX };
  const value =
    suffix.format === "BinarySI" ? binary(text, parts, suffix) : decimal(text, parts, suffix);
  return { ok: true, value };
}

/** For texts that were checked before; a malformed one is a programming error. */
export function quantityOf(text: string): Quantity {
  const known = parsedQuantities.get(text);
  if (known !== undefined) return known;
  const parsed = parseQuantity(text);
  if (!parsed.ok) throw new Error(`cannot parse '${text}': ${parsed.error}`);
  if (text.length <= KNOWN_LENGTH_MAX) {
    if (parsedQuantities.size >= KNOWN_MAX) parsedQuantities.clear();
    parsedQuantities.set(text, parsed.value);
  }
  return parsed.value;
}

// The same few texts ("100m", "64Mi") come again and again.
const KNOWN_MAX = 1000;
const KNOWN_LENGTH_MAX = 32;
const parsedQuantities = new Map<string, Quantity>();

/** A whole number of units in the given notation. */
export function quantityFrom(
  value: number | bigint,
  format: QuantityFormat,
  exponent = 0,
): Quantity {
  return { mantissa: narrow(value), exponent, format, text: undefined };
}

/** The text that the API prints for it; undefined if it is no quantity. */
export function canonicalQuantity(text: string): string | undefined {
  const parsed = parseQuantity(text);
  return parsed.ok ? formatQuantity(parsed.value) : undefined;
}

export function formatQuantity(quantity: Quantity): string {
  if (quantity.text !== undefined) return quantity.text;
  if (quantitySign(quantity) === 0) return "0";
  const whole = quantity.format === "BinarySI" ? wholeAmount(quantity) : undefined;
  if (whole !== undefined && (whole >= 1024n || whole <= -1024n)) return formatBinary(whole);
  return formatDecimal(quantity);
}

export function quantitySign({ mantissa }: Quantity): -1 | 0 | 1 {
  return mantissa > 0 ? 1 : mantissa < 0 ? -1 : 0;
}

/** Negative, zero or positive, as a sort function wants it. */
export function compareQuantities(a: Quantity, b: Quantity): -1 | 0 | 1 {
  if (a.exponent === b.exponent) return order(a.mantissa, b.mantissa);
  const sign = quantitySign(a);
  if (sign !== quantitySign(b)) return order(sign, quantitySign(b));
  if (sign === 0) return 0;
  const sizeA = digitCount(a.mantissa) + a.exponent;
  const sizeB = digitCount(b.mantissa) + b.exponent;
  if (sizeA !== sizeB) return order(sizeA * sign, sizeB * sign);
  const exponent = Math.min(a.exponent, b.exponent);
  return order(scaleUp(a, exponent), scaleUp(b, exponent));
}

/** A sum keeps the notation of the first summand, unless that is zero. */
export function addQuantities(a: Quantity, b: Quantity): Quantity {
  const format = quantitySign(a) === 0 ? b.format : a.format;
  if (quantitySign(b) === 0) return { ...a, format, text: undefined };
  if (quantitySign(a) === 0) return { ...b, format, text: undefined };
  if (
    a.exponent === b.exponent &&
    typeof a.mantissa === "number" &&
    typeof b.mantissa === "number"
  ) {
    const sum = a.mantissa + b.mantissa;
    if (Number.isSafeInteger(sum))
      return { mantissa: sum, exponent: a.exponent, format, text: undefined };
  }
  if (Math.abs(a.exponent - b.exponent) > EXPONENT_GAP_MAX) {
    return { ...(a.exponent > b.exponent ? a : b), format, text: undefined };
  }
  const exponent = Math.min(a.exponent, b.exponent);
  return {
    mantissa: narrow(scaleUp(a, exponent) + scaleUp(b, exponent)),
    exponent,
    format,
    text: undefined,
  };
}

export function subtractQuantities(a: Quantity, b: Quantity): Quantity {
  return addQuantities(a, negateQuantity(b));
}

export function negateQuantity(quantity: Quantity): Quantity {
  return { ...quantity, mantissa: negate(quantity.mantissa), text: undefined };
}

/** In whole units, rounded away from zero. Exact up to 2^53. */
export function quantityValue(quantity: Quantity): number {
  return scaledValue(quantity, 0);
}

/** In thousandths, rounded away from zero. */
export function quantityMilliValue(quantity: Quantity): number {
  return scaledValue(quantity, -3);
}

/** In units of 10^exponent, rounded away from zero. */
export function scaledValue({ mantissa, exponent }: Quantity, unitExponent: number): number {
  const shift = exponent - unitExponent;
  if (shift === 0 || mantissa === 0) return Number(mantissa);
  if (shift > 0) return Number(`${mantissa}e${shift}`); // the nearest number, Infinity if beyond
  if (typeof mantissa === "number") {
    if (shift < -INT64_DIGITS) return Math.sign(mantissa);
    // Both are exact and below 2^53, so a quotient with a fraction never rounds to a whole number.
    const quotient = mantissa / 10 ** -shift;
    return quotient < 0 ? Math.floor(quotient) : Math.ceil(quotient);
  }
  return Number(divideAwayFromZero(BigInt(mantissa), -shift).quotient);
}

interface Parts {
  readonly negative: boolean;
  /** Digits before the point without leading zeros, "0" if there are none. */
  readonly whole: string;
  readonly fraction: string;
  readonly suffix: string;
}

interface Suffix {
  readonly format: QuantityFormat;
  readonly exponent: number;
}

/** Takes a text apart; undefined if it is not a sign, a number and a suffix. */
function scan(text: string): Parts | undefined {
  if (text === "") return undefined;
  let at = text[0] === "-" || text[0] === "+" ? 1 : 0;
  while (text[at] === "0") at++;
  const wholeEnd = skipDigits(text, at);
  const whole = text.slice(at, wholeEnd);
  at = wholeEnd;
  let fraction = "";
  if (text[at] === ".") {
    const end = skipDigits(text, at + 1);
    fraction = text.slice(at + 1, end);
    at = end;
  }
  const suffix = text.slice(at);
  while (at < text.length && "eEinumkKMGTP".includes(text[at]!)) at++;
  if (text[at] === "-" || text[at] === "+") at++;
  if (skipDigits(text, at) !== text.length) return undefined;
  return { negative: text[0] === "-", whole: whole === "" ? "0" : whole, fraction, suffix };
}

function skipDigits(text: string, from: number): number {
  let at = from;
  for (; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code < 48 || code > 57) break;
  }
  return at;
}

function interpretSuffix(suffix: string): Suffix | undefined {
  const decimalExponent = DECIMAL_SUFFIXES.get(suffix);
  if (decimalExponent !== undefined) return { format: "DecimalSI", exponent: decimalExponent };
  const binaryExponent = BINARY_SUFFIXES.get(suffix);
  if (binaryExponent !== undefined) return { format: "BinarySI", exponent: binaryExponent };
  if (suffix.length > 20 || !/^[eE][-+]?\d+$/.test(suffix)) return undefined;
  const exponent = BigInt(suffix.slice(suffix[1] === "+" ? 2 : 1));
  if (exponent !== BigInt.asIntN(64, exponent)) return undefined;
  // Exponents are kept in 32 bits, so a larger one wraps around, as clients know it.
  return { format: "DecimalExponent", exponent: Number(BigInt.asIntN(32, exponent)) };
}

function decimal(text: string, { negative, whole, fraction }: Parts, suffix: Suffix): Quantity {
  const digits = whole + fraction;
  const exponent = suffix.exponent - fraction.length;
  const { format } = suffix;
  const mantissa = digitsToMantissa(digits, negative);
  if (digits.length <= INT64_DIGITS && exponent >= NANO) {
    const asPrinted = exponent % 3 === 0 && !digits.endsWith("000") && digits[0] !== "0";
    return { mantissa, exponent, format, text: asPrinted ? text : undefined };
  }
  return { ...roundToNano(mantissa, exponent), format, text: undefined };
}

function binary(text: string, { negative, whole, fraction }: Parts, suffix: Suffix): Quantity {
  const places = suffix.exponent;
  if (fraction === "" && whole.length + (places * 3) / 10 <= BINARY_FAST_DIGITS) {
    const count = Number(whole);
    const amount = count * 2 ** places; // at most 15 digits, so exact
    const mantissa = negative ? negate(amount) : amount;
    const asPrinted = count % 8 !== 0;
    return { mantissa, exponent: 0, format: "BinarySI", text: asPrinted ? text : undefined };
  }
  const exact = BigInt(whole + fraction) << BigInt(places);
  const rounded = roundToNano(exact, -fraction.length);
  const capped = compareQuantities(
    quantityFrom(rounded.mantissa, "BinarySI", rounded.exponent),
    BINARY_MAX,
  );
  const { mantissa, exponent } = capped > 0 ? BINARY_MAX : rounded;
  const belowOne = digitCount(mantissa) + exponent <= 0;
  return {
    mantissa: negative ? negate(mantissa) : narrow(mantissa),
    exponent,
    format: belowOne ? "DecimalSI" : "BinarySI",
    text: undefined,
  };
}

const BINARY_MAX = quantityFrom(INT64_MAX, "BinarySI");

function digitsToMantissa(digits: string, negative: boolean): number | bigint {
  const value = digits.length <= 15 ? Number(digits) : narrow(BigInt(digits));
  return negative ? negate(value) : value;
}

/** Cuts everything finer than a nano, rounding away from zero. */
function roundToNano(
  mantissa: number | bigint,
  exponent: number,
): { readonly mantissa: number | bigint; readonly exponent: number } {
  if (!mantissa || exponent >= NANO) return { mantissa: narrow(mantissa), exponent };
  const { quotient } = divideAwayFromZero(BigInt(mantissa), NANO - exponent);
  return { mantissa: narrow(quotient), exponent: NANO };
}

/** The amount in whole units; undefined if it has a fraction or is too large to be written out. */
function wholeAmount({ mantissa, exponent }: Quantity): bigint | undefined {
  if (exponent > EXPONENT_GAP_MAX) return undefined;
  if (exponent >= 0) return BigInt(mantissa) * 10n ** BigInt(exponent);
  const { quotient, exact } = divideAwayFromZero(BigInt(mantissa), -exponent);
  return exact ? quotient : undefined;
}

function formatBinary(amount: bigint): string {
  let places = 0;
  while (amount !== 0n && amount % 1024n === 0n) {
    amount /= 1024n;
    places += 10;
  }
  return `${amount}${BINARY_NAMES.get(places) ?? ""}`;
}

function formatDecimal({ mantissa, exponent, format }: Quantity): string {
  const digits = String(mantissa);
  let end = digits.length;
  while (digits.charCodeAt(end - 1) === 48) end--;
  exponent += digits.length - end;
  const surplus = ((exponent % 3) + 3) % 3; // a suffix stands for a multiple of three places
  const number = digits.slice(0, end) + "0".repeat(surplus);
  exponent -= surplus;
  if (format === "DecimalExponent") return exponent === 0 ? number : `${number}e${exponent}`;
  return number + (DECIMAL_NAMES.get(exponent) ?? "");
}

function inverse(map: ReadonlyMap<string, number>): ReadonlyMap<number, string> {
  return new Map([...map].map(([name, exponent]) => [exponent, name]));
}
