/** A range of addresses cut into equal parts, one for each node. */
import { cidrSpan } from "#api/validation/cidr-span.ts";
import { formatIp } from "#api/validation/ip.ts";

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
  const span = cidrSpan(cidr);
  if (span === undefined) return { fault: `${cidr} is not a range of addresses` };
  const { first: network, bits, prefixBits } = span;
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
  const span = cidrSpan(cidr);
  if (span === undefined || span.bits !== pool.bits) return undefined;
  const shift = BigInt(pool.bits - pool.partBits);
  const first = (span.first - pool.network) >> shift;
  const last = (span.last - pool.network) >> shift;
  if (last < 0n || first >= BigInt(pool.count)) return undefined;
  return [Math.max(0, Number(first)), Math.min(pool.count - 1, Number(last))];
}
