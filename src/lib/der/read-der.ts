/**
 * Reads ASN.1 DER as far as certificates, requests and keys need it, and never looks beyond the bytes it
 * was given. Malformed input throws DerError.
 */
import { TAG } from "./der-tags.ts";

const CONSTRUCTED = 0x20;

/** A value as it was read: `bytes` is the whole encoding, `content` what is inside. */
export interface DerValue<Bytes extends Uint8Array = Uint8Array> {
  readonly tag: number;
  readonly bytes: Bytes;
  readonly content: Bytes;
}

class DerError extends Error {
  override readonly name = "DerError";
}

/** A value with everything inside it. */
export interface DerTree {
  readonly tag: number;
  readonly content: Uint8Array;
  /** Empty for primitive values. */
  readonly children: readonly DerTree[];
}

const DEPTH_MAX = 32;

/** The one value that the bytes hold, read to its innermost; undefined if they hold anything else. */
export function parseDer(bytes: Uint8Array): DerTree | undefined {
  try {
    return treeOf(readDer(bytes), 0);
  } catch (error) {
    if (error instanceof DerError) return undefined;
    throw error;
  }
}

function treeOf(value: DerValue, depth: number): DerTree {
  if (depth > DEPTH_MAX) throw new DerError("values are nested too deep");
  const { tag, content } = value;
  const isConstructed = (tag & CONSTRUCTED) !== 0;
  const children = isConstructed ? childrenOf(value).map((one) => treeOf(one, depth + 1)) : [];
  return { tag, content, children };
}

/** Reads exactly one value. */
export function readDer<Bytes extends Uint8Array>(bytes: Bytes): DerValue<Bytes> {
  const value = readAt(bytes, 0);
  if (value.bytes.length !== bytes.length) throw new DerError("bytes after the end of a value");
  return value;
}

/** The values inside a constructed one. */
export function childrenOf<Bytes extends Uint8Array>(value: DerValue<Bytes>): DerValue<Bytes>[] {
  if ((value.tag & CONSTRUCTED) === 0) throw new DerError("a primitive value has no members");
  const children: DerValue<Bytes>[] = [];
  for (let at = 0; at < value.content.length; ) {
    const child = readAt(value.content, at);
    children.push(child);
    at += child.bytes.length;
  }
  return children;
}

export function readOid({ tag, content }: DerValue): string {
  if (tag !== TAG.oid || content.length === 0) throw new DerError("not an object identifier");
  return oidText({ content });
}

/** `1.2.840.113549.1.1.1`; some text whatever the bytes are. */
export function oidText({ content }: Pick<DerValue, "content">): string {
  const arcs: number[] = [];
  let arc = 0;
  for (const byte of content) {
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
export function readBits<Bytes extends Uint8Array>({ tag, content }: DerValue<Bytes>): Bytes {
  if (tag !== TAG.bitString || content.length === 0) throw new DerError("not a bit string");
  return content.subarray(1) as Bytes;
}

/** PrintableString, TeletexString, IA5String: a byte for each character. */
const LATIN_STRINGS: ReadonlySet<number> = new Set([0x13, 0x14, 0x16]);
const BMP_STRING = 0x1e;

export function readString({ tag, content }: DerValue): string {
  if (tag === TAG.utf8String) return new TextDecoder("utf-8", { ignoreBOM: true }).decode(content);
  if (LATIN_STRINGS.has(tag))
    return Array.from(content, (byte) => String.fromCharCode(byte)).join("");
  if (tag === BMP_STRING) return new TextDecoder("utf-16be", { ignoreBOM: true }).decode(content);
  throw new DerError("not a string");
}

function readAt<Bytes extends Uint8Array>(bytes: Bytes, at: number): DerValue<Bytes> {
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
    length = 0;
    for (let i = 0; i < lengthBytes; i++) length = length * 256 + bytes[start + i]!;
    start += lengthBytes;
  }
  const end = start + length;
  if (end > bytes.length) throw new DerError("a value is cut short");
  const part = (from: number): Bytes => bytes.subarray(from, end) as Bytes;
  return { tag, bytes: part(at), content: part(start) };
}
