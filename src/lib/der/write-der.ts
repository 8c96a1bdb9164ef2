/** Writes the part of ASN.1 DER that certificates and certificate requests need. */
import { TAG } from "./der-tags.ts";

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
