/** Seeded damage for decoders: random bytes, and valid input that went wrong somewhere. */
import type { Random } from "#lib/random.ts";

const JSON_TOKENS = [
  "{",
  "}",
  "[",
  "]",
  ",",
  ":",
  '"',
  "\\",
  "null",
  "true",
  "-",
  "0",
  "1e9",
  "1.0",
  "1e999",
  " ",
  "9007199254740993",
  "99999999999999999999",
  '"__proto__"',
  '"metadata"',
  '"name"',
  '"x":',
  "{}",
  "[]",
  '""',
  "\\ud800",
  "\u0000",
  "\u00e9",
  "\u2028",
  '"spec":{',
  "[[[[",
  '{"a":',
] as const;

const YAML_TOKENS = [
  ": ",
  "- ",
  "\n",
  "\n  ",
  "&a ",
  "*a",
  "<<: *a",
  "|\n",
  ">-\n",
  "'",
  '"',
  "# ",
  "---\n",
  "!!int ",
  "!",
  "? ",
  "{",
  "}",
  "[",
  "]",
  "yes",
  "~",
  "0o7",
  ".inf",
  "\t",
  "%",
  "@",
  "x: &x {<<: *x}",
] as const;

/** Cuts, doubles, moves and replaces parts of a text and inserts tokens of its language. */
export function damagedText(text: string, random: Random, language: "json" | "yaml"): string {
  const tokens = language === "json" ? JSON_TOKENS : YAML_TOKENS;
  const times = 1 + random.integer(4);
  for (let i = 0; i < times; i++) {
    const from = random.integer(text.length + 1);
    const to = Math.min(text.length, from + random.integer(random.integer(4) === 0 ? 200 : 8));
    const token = tokens[random.integer(tokens.length)]!;
    switch (random.integer(5)) {
      case 0:
        text = text.slice(0, from) + text.slice(to);
        break;
      case 1:
        text = text.slice(0, to) + text.slice(from);
        break;
      case 2:
        text = text.slice(0, from) + token + text.slice(to);
        break;
      case 3:
        text = text.slice(0, from) + token.repeat(random.integer(3) + 1) + text.slice(from);
        break;
      default: {
        const elsewhere = random.integer(text.length + 1);
        text = text.slice(0, elsewhere) + text.slice(from, to) + text.slice(elsewhere);
      }
    }
  }
  return Buffer.from(text).toString(); // halves of a pair cannot be sent
}

/** Flips, cuts, inserts and copies bytes. */
export function damagedBytes(bytes: Uint8Array, random: Random): Uint8Array {
  let result = [...bytes];
  const times = 1 + random.integer(6);
  for (let i = 0; i < times; i++) {
    const at = random.integer(result.length + 1);
    switch (random.integer(5)) {
      case 0:
        if (at < result.length) result[at] = random.integer(256);
        break;
      case 1:
        result = result.slice(0, at);
        break;
      case 2:
        result.splice(at, random.integer(4), ...randomBytes(random.integer(6), random));
        break;
      case 3:
        if (at < result.length) result[at] = result[at]! ^ (1 << random.integer(8));
        break;
      default:
        result.splice(at, 0, ...result.slice(random.integer(result.length + 1)).slice(0, 40));
    }
  }
  return Uint8Array.from(result);
}

export function randomBytes(length: number, random: Random): Uint8Array {
  return Uint8Array.from({ length }, () => random.integer(256));
}
