/**
 * Header blocks of requests. Only the static table is used, so blocks do not depend on what was sent
 * before: they can be made once and sent many times, on any connection.
 */
import { type HeaderField, STATIC_TABLE } from "./hpack-static-table.ts";

const INDEXED = 0x80;
const LITERAL_WITHOUT_INDEXING = 0x00;

const FIELD_INDEX = new Map(STATIC_TABLE.map(([name, value], at) => [`${name}\0${value}`, at + 1]));
const NAME_INDEX = new Map(STATIC_TABLE.map(([name], at) => [name, at + 1] as const).toReversed());

/** The peer may keep no dynamic table: nothing is ever put into it. */
export const EMPTY_TABLE_UPDATE = Buffer.of(0x20);

/** Names are in lower case. */
export function encodeHeaders(fields: readonly HeaderField[]): Buffer {
  const parts: Buffer[] = [];
  for (const [name, value] of fields) {
    const index = FIELD_INDEX.get(`${name}\0${value}`);
    if (index !== undefined) {
      parts.push(prefixedInteger(INDEXED, 7, index));
      continue;
    }
    const nameIndex = NAME_INDEX.get(name) ?? 0;
    parts.push(prefixedInteger(LITERAL_WITHOUT_INDEXING, 4, nameIndex));
    if (nameIndex === 0) parts.push(text(name));
    parts.push(text(value));
  }
  return Buffer.concat(parts);
}

function text(value: string): Buffer {
  const bytes = Buffer.from(value, "latin1");
  return Buffer.concat([prefixedInteger(0, 7, bytes.length), bytes]);
}

/** An integer whose first bits share a byte with `pattern` (RFC 7541, section 5.1). */
function prefixedInteger(pattern: number, bits: number, value: number): Buffer {
  const max = 2 ** bits - 1;
  if (value < max) return Buffer.of(pattern | value);
  const bytes = [pattern | max];
  let rest = value - max;
  while (rest >= 128) {
    bytes.push((rest % 128) + 128);
    rest = Math.floor(rest / 128);
  }
  bytes.push(rest);
  return Buffer.from(bytes);
}
