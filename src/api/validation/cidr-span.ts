/** A range of addresses as numbers. */
import { parseCidr, parseIp } from "./ip.ts";

export interface CidrSpan {
  readonly bits: 32 | 128;
  readonly prefixBits: number;
  readonly first: bigint;
  readonly last: bigint;
}

/** Undefined if the text is no range. */
export function cidrSpan(text: string): CidrSpan | undefined {
  const parsed = parseCidr(text);
  if (parsed === undefined) return undefined;
  const { bytes } = parsed.address;
  const bits = bytes.length === 4 ? 32 : 128;
  const host = BigInt(bits - parsed.prefixBits);
  const first = (numberOf(bytes) >> host) << host;
  return { bits, prefixBits: parsed.prefixBits, first, last: first + (1n << host) - 1n };
}

/** An address as a range of one. */
export function addressSpan(text: string): CidrSpan | undefined {
  const bytes = parseIp(text)?.bytes;
  if (bytes === undefined) return undefined;
  const bits = bytes.length === 4 ? 32 : 128;
  const number = numberOf(bytes);
  return { bits, prefixBits: bits, first: number, last: number };
}

export function spanContains(outer: CidrSpan, inner: CidrSpan): boolean {
  return outer.bits === inner.bits && outer.first <= inner.first && inner.last <= outer.last;
}

function numberOf(bytes: ArrayLike<number>): bigint {
  let number = 0n;
  for (let i = 0; i < bytes.length; i++) number = (number << 8n) | BigInt(bytes[i]!);
  return number;
}
