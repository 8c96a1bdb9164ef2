/**
 * What a plain scalar means: the rules by which kubectl and the API server read YAML, which are
 * those of YAML 1.1 with a few of their own. `yes`, `on` and `y` are booleans, `0777` is octal,
 * `1e3` is a text (a float's exponent needs a sign), dates and `22:30` are texts.
 */
export type YamlScalar = string | number | bigint | boolean | null;

const WORDS: ReadonlyMap<string, boolean | number | null> = new Map<
  string,
  boolean | number | null
>([
  ...spellings(["y", "yes", "true", "on"]).map((word) => [word, true] as const),
  ...spellings(["n", "no", "false", "off"]).map((word) => [word, false] as const),
  ...spellings(["null"]).map((word) => [word, null] as const),
  ["", null],
  ["~", null],
  ...[".nan", ".NaN", ".NAN"].map((word) => [word, Number.NaN] as const),
  ...[".inf", ".Inf", ".INF"].flatMap((word): [string, number][] => [
    [word, Number.POSITIVE_INFINITY],
    [`+${word}`, Number.POSITIVE_INFINITY],
    [`-${word}`, Number.NEGATIVE_INFINITY],
  ]),
]);

const FLOAT = /^[-+]?[0-9]*\.?[0-9]+([eE][-+][0-9]+)?$/;
const DOT_FLOAT = /^\.[0-9]+([eE][-+]?[0-9]+)?$/;
const INT64_MIN = -(2n ** 63n);
const UINT64_MAX = 2n ** 64n - 1n;

export function resolveYamlScalar(text: string): YamlScalar {
  const word = WORDS.get(text);
  if (word !== undefined) return word;
  const first = text[0]!;
  if (first === ".") return DOT_FLOAT.test(text) ? Number(text) : text;
  if (!/[-+0-9]/.test(first)) return text;
  const plain = text.replaceAll("_", "");
  const whole = wholeOf(plain);
  if (whole !== undefined) return whole;
  return FLOAT.test(plain) ? Number(plain) : text;
}

/** Texts that other readers of YAML 1.1 would not take for texts. */
export function looksLikeTimeOrBase60(text: string): boolean {
  return DATE.test(text) || BASE_60.test(text);
}

const DATE = /^\d{4}-\d\d?-\d\d?(?:[Tt ]\d\d?:\d\d?:\d\d?(?:\.\d+)?(?:Z|[-+]\d\d:\d\d)?)?$/;
const BASE_60 = /^[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?$/;

/** Go's notations: 0x, 0b, 0o, and a leading zero for octal. */
const WHOLE = /^([-+]?)(?:0[xX]([0-9a-fA-F]+)|0[bB]([01]+)|0[oO]?([0-7]+)|([1-9][0-9]*|0))$/;

/** A sign, a prefix and 64 binary digits. */
const WHOLE_LENGTH_MAX = 67;

function wholeOf(text: string): number | bigint | undefined {
  const match = text.length > WHOLE_LENGTH_MAX ? null : WHOLE.exec(text);
  if (match === null) return undefined;
  const [, sign, hex, binary, octal, decimal] = match;
  const size = BigInt(
    hex !== undefined
      ? `0x${hex}`
      : binary !== undefined
        ? `0b${binary}`
        : octal !== undefined
          ? `0o${octal}`
          : decimal!,
  );
  const value = sign === "-" ? -size : size;
  if (value < INT64_MIN || value > UINT64_MAX) return undefined;
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value;
}

function spellings(words: readonly string[]): string[] {
  return words.flatMap((word) => [
    word,
    word[0]!.toUpperCase() + word.slice(1),
    word.toUpperCase(),
  ]);
}
