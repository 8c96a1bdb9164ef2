/** A range of addresses cut into equal parts, one for each node. */
import { type Cidr, formatIp, parseCidr } from "#api/validation/ip.ts";

export interface Pool {
  readonly bits: 32 | 128;
  readonly network: bigint;
  readonly partBits: number;
  readonly count: number;
}

/** Larger ranges could not be kept account of. */
const COUNT_BITS_MAX = 16;

/** The pool, or in which words it cannot be. */
export function poolOf(cidr: string, partBits: number): Pool | { readonly fault: string } {
  const parsed = parseCidr(cidr);
  if (parsed === undefined) return { fault: `${cidr} is not a range of addresses` };
  const { network, bits, prefixBits } = spanOf(parsed);
  if (partBits < prefixBits || partBits > bits) {
    return { fault: `the range ${cidr} has no parts of size /${partBits}` };
  }
  if (partBits - prefixBits > COUNT_BITS_MAX) {
    return { fault: `the range ${cidr} has too many parts of size /${partBits}` };
  }
  return { bits, network, partBits, count: 2 ** (partBits - prefixBits) };
}

export function partAt({ bits, network, partBits }: Pool, index: number): string {
  let rest = network + (BigInt(index) << BigInt(bits - partBits));
  const bytes = new Array<number>(bits / 8);
  for (let i = bytes.length - 1; i >= 0; i--) {
    bytes[i] = Number(rest & 0xffn);
    rest >>= 8n;
  }
  return `${formatIp({ bytes })}/${partBits}`;
}

/** Which parts a range touches, first and last; undefined if none. */
export function partsWithin(pool: Pool, cidr: string): readonly [number, number] | undefined {
  const parsed = parseCidr(cidr);
  if (parsed === undefined) return undefined;
  const { network, bits, prefixBits } = spanOf(parsed);
  if (bits !== pool.bits) return undefined;
  const shift = BigInt(bits - pool.partBits);
  const first = (network - pool.network) >> shift;
  const last = (network + (1n << BigInt(bits - prefixBits)) - 1n - pool.network) >> shift;
  if (last < 0n || first >= BigInt(pool.count)) return undefined;
  return [Math.max(0, Number(first)), Math.min(pool.count - 1, Number(last))];
}

function spanOf({ address, prefixBits }: Cidr): {
  readonly network: bigint;
  readonly bits: 32 | 128;
  readonly prefixBits: number;
} {
  const { bytes } = address;
  const bits = bytes.length === 4 ? 32 : 128;
  let number = 0n;
  for (let i = 0; i < bytes.length; i++) number = (number << 8n) | BigInt(bytes[i]!);
  const host = BigInt(bits - prefixBits);
  return { network: (number >> host) << host, bits, prefixBits };
}
