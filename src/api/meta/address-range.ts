/** A range of addresses as numbers, and the order in which free ones are looked for. */
import { type Cidr, formatIp, parseIp } from "#api/validation/ip.ts";
import type { Random } from "#lib/random.ts";

export interface AddressRange {
  readonly family: "IPv4" | "IPv6";
  readonly cidr: string;
  /** The first and last address that may be given away. */
  readonly first: bigint;
  readonly last: bigint;
}

/** Of larger ranges only this many addresses are used. */
const SIZE_MAX = 2 ** 16;

export function addressRange({ address, prefixBits }: Cidr, text: string): AddressRange {
  const bits = address.bytes.length * 8;
  const size = 1n << BigInt(bits - prefixBits);
  const network = (numberOf(address.bytes) / size) * size;
  const v4 = bits === 32;
  // The network's own address is never used, nor, in IPv4, the one for all.
  const reserved = v4 ? 2n : 1n;
  const last = network + size - reserved;
  return { family: v4 ? "IPv4" : "IPv6", cidr: text, first: network + 1n, last };
}

export function contains(range: AddressRange, address: string): boolean {
  const parsed = parseIp(address);
  if (parsed === undefined) return false;
  if ((parsed.bytes.length === 4 ? "IPv4" : "IPv6") !== range.family) return false;
  const number = numberOf(parsed.bytes);
  return number >= range.first && number <= range.last;
}

/**
 * Every address of the range once: from a random one on through the upper band, then the lower band,
 * which is reserved for explicitly requested addresses.
 */
export function* candidates(range: AddressRange, random: Random): Generator<string> {
  const size = Math.min(Number(range.last - range.first + 1n), SIZE_MAX);
  if (size <= 0) return;
  const lower = size < 16 ? 0 : Math.min(Math.max(16, Math.floor(size / 16)), 256);
  const upper = size - lower;
  const start = random.integer(upper);
  for (let i = 0; i < upper; i++) yield addressAt(range, lower + ((start + i) % upper));
  for (let i = 0; i < lower; i++) yield addressAt(range, i);
}

export function addressAt(range: AddressRange, index: number): string {
  const length = range.family === "IPv4" ? 4 : 16;
  const bytes = new Array<number>(length);
  let rest = range.first + BigInt(index);
  for (let i = length - 1; i >= 0; i--) {
    bytes[i] = Number(rest & 0xffn);
    rest >>= 8n;
  }
  return formatIp({ bytes });
}

function numberOf(bytes: ArrayLike<number>): bigint {
  let number = 0n;
  for (let i = 0; i < bytes.length; i++) number = (number << 8n) | BigInt(bytes[i]!);
  return number;
}
