/**
 * One pass over JSON text for what a parsed value no longer shows: the number of keys, the nesting
 * depth, and whether a number loses its spelling. The text must be valid JSON; for other text the
 * results mean nothing.
 */
export interface JsonScan {
  readonly keys: number;
  readonly depth: number;
  /** A key may have a backslash: it has an escaped one, or a character written by its number. */
  readonly backslashKeys: boolean;
  /** A fraction, an exponent, or more digits than a number holds exactly. */
  readonly oddNumbers: boolean;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COLON = 0x3a;
const LETTER_U = 0x75;
const OPEN_BRACKET = 0x5b;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACKET = 0x5d;
const CLOSE_BRACE = 0x7d;
/** Digits that always fit a safe integer. */
const SAFE_DIGITS = 15;

/**
 * Bytes, not characters: reading a byte array is twice as fast as reading a string. Text that nests
 * deeper than `depthMax` is not scanned any further.
 */
export function scanJson(text: Uint8Array, depthMax: number): JsonScan {
  let keys = 0;
  let level = 0;
  let depth = 0;
  let oddNumbers = false;
  let hasBackslash = false; // the last string
  let backslashKeys = false;
  const { length } = text;

  for (let i = 0; i < length; i++) {
    const c = text[i]!;
    if (c === QUOTE) {
      hasBackslash = false;
      while (++i < length) {
        const inside = text[i]!;
        if (inside === QUOTE) break;
        if (inside !== BACKSLASH) continue;
        const escaped = text[++i]!;
        // Of the characters that are written by their number it may be one.
        if (escaped === BACKSLASH || escaped === LETTER_U) hasBackslash = true;
      }
    } else if (c === COLON) {
      keys++;
      if (hasBackslash) backslashKeys = true;
    } else if (c === OPEN_BRACE || c === OPEN_BRACKET) {
      if (++level > depth) {
        depth = level;
        if (depth > depthMax) break;
      }
    } else if (c === CLOSE_BRACE || c === CLOSE_BRACKET) {
      level--;
    } else if (c >= 0x30 && c <= 0x39) {
      const start = i;
      while (text[i + 1]! >= 0x30 && text[i + 1]! <= 0x39) i++;
      const next = text[i + 1]!;
      const isPlain = next !== 0x2e && (next | 0x20) !== 0x65; // . e E
      if (!isPlain || i - start >= SAFE_DIGITS) oddNumbers = true;
    }
  }
  return { keys, depth, oddNumbers, backslashKeys };
}

/** Index of the quote that ends the string whose first character is at `from`. */
export function endOfString(text: string, from: number): number {
  for (;;) {
    const quote = text.indexOf('"', from);
    if (quote < 0) return text.length;
    let before = quote - 1;
    while (text.charCodeAt(before) === BACKSLASH) before--;
    if ((quote - before) % 2 === 1) return quote;
    from = quote + 1;
  }
}
