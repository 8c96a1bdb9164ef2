/**
 * Reads ASN.1 DER as far as certificates, requests and keys need it, and never looks beyond the bytes it
 * was given. Malformed input throws DerError.
 */
import { TAG } from "./der-tags.ts";

const CONSTRUCTED = 0x20;

/** A value as it was read: `bytes` is the whole encoding, `content` what is inside. */
export interface DerValue {
  readonly tag: number;
  readonly bytes: Buffer;
  readonly content: Buffer;
}

class DerError extends Error {
  override readonly name = "DerError";
}

/** A value with everything inside it. */
export interface DerTree {
  readonly tag: number;
  readonly content: Buffer;
  /** Empty for primitive values. */
  readonly children: readonly DerTree[];
}

const DEPTH_MAX = 32;

/** The one value that the bytes hold, read to its innermost; undefined if they hold anything else. */
export function parseDer(bytes: Uint8Array): DerTree | undefined {
  try {
    return treeOf(readDer(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)), 0);
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
export function readDer(bytes: Buffer): DerValue {
  const value = readAt(bytes, 0);
  if (value.bytes.length !== bytes.length) throw new DerError("bytes after the end of a value");
  return value;
}

/** The values inside a constructed one. */
export function childrenOf(value: DerValue): DerValue[] {
  if ((value.tag & CONSTRUCTED) === 0) throw new DerError("a primitive value has no members");
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
