/** A minimal reader of ASN.1 DER: enough to look into certificates and keys. */
export interface DerValue {
  /** The identifier byte, with its class and whether it has children. */
  readonly tag: number;
  readonly content: Uint8Array;
  /** Empty for primitive values and for malformed contents. */
  readonly children: readonly DerValue[];
}

const CONSTRUCTED = 0x20;
const DEPTH_MAX = 32;

/** The one value that the bytes hold; undefined if they hold anything else. */
export function parseDer(bytes: Uint8Array): DerValue | undefined {
  const values = parseAll(bytes, 0);
  return values?.length === 1 ? values[0] : undefined;
}

/** `1.2.840.113549.1.1.1` */
export function oidText({ content }: DerValue): string {
  const arcs: number[] = [];
  let arc = 0;
  for (const byte of content) {
    arc = arc * 128 + (byte & 0x7f);
    if (byte < 0x80) {
      arcs.push(arc);
      arc = 0;
    }
  }
  const [first = 0, ...rest] = arcs;
  const top = Math.min(Math.floor(first / 40), 2);
  return [top, first - 40 * top, ...rest].join(".");
}

function parseAll(bytes: Uint8Array, depth: number): DerValue[] | undefined {
  if (depth > DEPTH_MAX) return undefined;
  const values: DerValue[] = [];
  let at = 0;
  while (at < bytes.length) {
    const tag = bytes[at]!;
    const length = lengthAt(bytes, at + 1);
    if (length === undefined || length.end > bytes.length) return undefined;
    const content = bytes.subarray(length.start, length.end);
    const children = (tag & CONSTRUCTED) !== 0 ? parseAll(content, depth + 1) : [];
    if (children === undefined) return undefined;
    values.push({ tag, content, children });
    at = length.end;
  }
  return values;
}

function lengthAt(bytes: Uint8Array, at: number): { start: number; end: number } | undefined {
  const first = bytes[at];
  if (first === undefined) return undefined;
  if (first < 0x80) return { start: at + 1, end: at + 1 + first };
  const count = first & 0x7f;
  if (count === 0 || count > 4) return undefined;
  let length = 0;
  for (let i = 1; i <= count; i++) length = length * 256 + (bytes[at + i] ?? 0);
  return { start: at + 1 + count, end: at + 1 + count + length };
}
