/** Whole numbers written as text, and what is wrong with such a text in the words of Go's parser. */
import { goQuote } from "./go-quote.ts";

const INT64_MIN = -(2n ** 63n);
const INT64_MAX = 2n ** 63n - 1n;

/** Why the text is no number of 64 bits; undefined if it is one. */
export function int64Fault(text: string): string | undefined {
  const refuse = (why: string) => `strconv.ParseInt: parsing ${goQuote(text)}: ${why}`;
  if (!/^[-+]?[0-9]+$/.test(text)) return refuse("invalid syntax");
  const number = BigInt(text.replace(/^\+/, ""));
  return number < INT64_MIN || number > INT64_MAX ? refuse("value out of range") : undefined;
}
