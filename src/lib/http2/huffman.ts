/**
 * The Huffman code of HPACK (RFC 7541, appendix B). The code is canonical: the lengths of the codes
 * give the codes themselves, shorter ones first and equal lengths in the order of the symbols.
 */
import { Http2Error } from "./http2-error.ts";

/** The length of the code of each byte, in bits; the last one ends a string and never stands in one. */
const CODE_LENGTHS: readonly number[] = [
  13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 30, 28,
  28, 28, 28, 28, 28, 28, 28, 28, 6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6, 5, 5, 5,
  6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10, 13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7,
  7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6, 15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5, 6,
  7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28, 20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23,
  23, 23, 24, 23, 24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24, 22, 21, 20, 22,
  22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23, 21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22,
  23, 22, 22, 23, 26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25, 19, 21, 26, 27,
  27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27, 20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25,
  24, 24, 26, 23, 26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26, 30,
];
const END_OF_STRING = 256;
const CODE_LENGTH_MAX = 30;
const PADDING_BITS_MAX = 7;

interface CodesOfLength {
  readonly first: number;
  readonly symbols: readonly number[];
}

const BY_LENGTH: readonly CodesOfLength[] = codesByLength();

/** Throws Http2Error if the bytes are not a whole number of symbols and a correct padding. */
export function decodeHuffman(bytes: Uint8Array): string {
  const text: number[] = [];
  let code = 0;
  let length = 0;
  for (const byte of bytes) {
    for (let bit = 7; bit >= 0; bit--) {
      code = code * 2 + ((byte >> bit) & 1);
      length += 1;
      const symbol = symbolOf(code, length);
      if (symbol === undefined) continue;
      if (symbol === END_OF_STRING) throw invalid("the end of the string stands in it");
      text.push(symbol);
      [code, length] = [0, 0];
    }
  }
  if (length > PADDING_BITS_MAX) throw invalid("the padding is too long");
  if (code !== 2 ** length - 1) throw invalid("the padding is not of ones");
  return Buffer.from(text).toString("latin1");
}

function symbolOf(code: number, length: number): number | undefined {
  if (length > CODE_LENGTH_MAX) throw invalid("there is no such code");
  const { first, symbols } = BY_LENGTH[length]!;
  return code < first ? undefined : symbols[code - first];
}

function codesByLength(): CodesOfLength[] {
  const codes: CodesOfLength[] = [];
  let next = 0;
  for (let length = 0; length <= CODE_LENGTH_MAX; length++) {
    const symbols = [...CODE_LENGTHS.keys()].filter((symbol) => CODE_LENGTHS[symbol] === length);
    codes.push({ first: next, symbols });
    next = (next + symbols.length) * 2;
  }
  return codes;
}

function invalid(why: string): Http2Error {
  return new Http2Error("COMPRESSION_ERROR", `a Huffman-coded string is invalid: ${why}`);
}
