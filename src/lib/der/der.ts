/**
 * The part of ASN.1 DER that certificates and certificate requests need: a writer of values and a
 * reader that never looks beyond the bytes it was given. Malformed input throws DerError.
 */
const TAG = {
  boolean: 0x01,
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  null: 0x05,
  oid: 0x06,
  utf8String: 0x0c,
  sequence: 0x30,
  set: 0x31,
  utcTime: 0x17,
  generalizedTime: 0x18,
} as const;

/** A value as it was read: `bytes` is the whole encoding, `content` what is inside. */
export interface DerValue {
  readonly tag: number;
  readonly bytes: Buffer;
  readonly content: Buffer;
}

class DerError extends Error {
  override readonly name = "DerError";
}

export const der = {
  sequence: (...items: readonly Buffer[]): Buffer => tagged(TAG.sequence, ...items),
  /** DER wants the members of a set in the order of their bytes. */
  set: (...items: readonly Buffer[]): Buffer =>
    tagged(TAG.set, ...[...items].sort((a, b) => Buffer.compare(a, b))),
  integer: (value: Buffer | number): Buffer => tagged(TAG.integer, integerContent(value)),
  boolean: (value: boolean): Buffer => tagged(TAG.boolean, Buffer.of(value ? 0xff : 0)),
  null: (): Buffer => tagged(TAG.null),
  oid: (dotted: string): Buffer => tagged(TAG.oid, oidContent(dotted)),
  utf8: (text: string): Buffer => tagged(TAG.utf8String, Buffer.from(text, "utf8")),
  octets: (content: Buffer): Buffer => tagged(TAG.octetString, content),
  bits: (content: Buffer, unusedBits = 0): Buffer =>
    tagged(TAG.bitString, Buffer.of(unusedBits), content),
  /** Years before 2050 are written with two digits, as X.509 wants it. */
  time: (atMs: number): Buffer => timeValue(atMs),
  /** `[number]` around whole values. */
  explicit: (number: number, ...items: readonly Buffer[]): Buffer =>
    tagged(0xa0 | number, ...items),
  /** `[number]` in place of the value's own tag. */
  implicit: (number: number, content: Buffer): Buffer => tagged(0x80 | number, content),
};

/** Reads exactly one value. */
export function readDer(bytes: Buffer): DerValue {
  const value = readAt(bytes, 0);
  if (value.bytes.length !== bytes.length) throw new DerError("bytes after the end of a value");
  return value;
}

/** The values inside a constructed one. */
export function childrenOf(value: DerValue): DerValue[] {
  if ((value.tag & 0x20) === 0) throw new DerError("a primitive value has no members");
  const children: DerValue[] = [];
  for (let at = 0; at < value.content.length; ) {
    const child = readAt(value.content, at);
    children.push(child);
    at += child.bytes.length;
  }
  return children;
}

export function readOid({ tag, content }: DerValue): string {
  if (tag !== TAG.oid || content.length === 0) throw new DerError("not an object identifier");
  const arcs: number[] = [];
  let arc = 0;
  for (const byte of content) {
    if (arc > 2 ** 40) throw new DerError("an object identifier is too large");
    arc = arc * 128 + (byte & 0x7f);
    if ((byte & 0x80) !== 0) continue;
    if (arcs.length > 0) arcs.push(arc);
    else if (arc < 80) arcs.push(Math.floor(arc / 40), arc % 40);
    else arcs.push(2, arc - 80);
    arc = 0;
  }
  return arcs.join(".");
}

/** The content of a BIT STRING of whole bytes. */
export function readBits({ tag, content }: DerValue): Buffer {
  if (tag !== TAG.bitString || content.length === 0) throw new DerError("not a bit string");
  return content.subarray(1);
}

const STRING_ENCODINGS: ReadonlyMap<number, BufferEncoding> = new Map([
  [TAG.utf8String, "utf8"],
  [0x13, "latin1"], // PrintableString
  [0x14, "latin1"], // TeletexString
  [0x16, "latin1"], // IA5String
]);
const BMP_STRING = 0x1e;

export function readString({ tag, content }: DerValue): string {
  if (tag === BMP_STRING) return Buffer.from(content).swap16().toString("utf16le");
  const encoding = STRING_ENCODINGS.get(tag);
  if (encoding === undefined) throw new DerError("not a string");
  return content.toString(encoding);
}

function readAt(bytes: Buffer, at: number): DerValue {
  const tag = bytes[at];
  const first = bytes[at + 1];
  if (tag === undefined || first === undefined) throw new DerError("a value is cut short");
  if ((tag & 0x1f) === 0x1f) throw new DerError("a tag of more than one byte");
  let start = at + 2;
  let length = first;
  if (first >= 0x80) {
    const lengthBytes = first & 0x7f;
    if (lengthBytes === 0 || lengthBytes > 4) throw new DerError("a length that DER forbids");
    if (start + lengthBytes > bytes.length) throw new DerError("a value is cut short");
    length = bytes.readUIntBE(start, lengthBytes);
    start += lengthBytes;
  }
  const end = start + length;
  if (end > bytes.length) throw new DerError("a value is cut short");
  return { tag, bytes: bytes.subarray(at, end), content: bytes.subarray(start, end) };
}

function tagged(tag: number, ...contents: readonly Buffer[]): Buffer {
  const length = contents.reduce((sum, content) => sum + content.length, 0);
  return Buffer.concat([Buffer.of(tag), lengthBytes(length), ...contents]);
}

function lengthBytes(length: number): Buffer {
  if (length < 0x80) return Buffer.of(length);
  if (length < 0x100) return Buffer.of(0x81, length);
  if (length < 0x10000) return Buffer.of(0x82, length >> 8, length & 0xff);
  return Buffer.of(0x83, length >> 16, (length >> 8) & 0xff, length & 0xff);
}

function integerContent(value: Buffer | number): Buffer {
  if (typeof value === "number") return Buffer.of(value);
  // A leading one bit would make the number negative.
  return (value[0]! & 0x80) === 0 ? value : Buffer.concat([Buffer.of(0), value]);
}

function oidContent(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted.split(".").map(Number);
  return Buffer.from([first * 40 + second, ...rest].flatMap(base128));
}

function base128(arc: number): number[] {
  const bytes = [arc & 0x7f];
  for (let left = Math.floor(arc / 128); left > 0; left = Math.floor(left / 128)) {
    bytes.unshift((left % 128) | 0x80);
  }
  return bytes;
}

function timeValue(atMs: number): Buffer {
  const text = `${new Date(atMs).toISOString().replace(/[-:T]/g, "").slice(0, 14)}Z`;
  const short = new Date(atMs).getUTCFullYear() < 2050;
  return short
    ? tagged(TAG.utcTime, Buffer.from(text.slice(2), "latin1"))
    : tagged(TAG.generalizedTime, Buffer.from(text, "latin1"));
}
