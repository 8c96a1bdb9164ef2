/**
 * IP addresses in little memory: a string with one character for each byte, and before each address its
 * length. V8 keeps a byte for such a character: an IPv4 address takes 24 bytes instead of 80 as an array.
 */

/** 4 bytes, or 16. */
export type Address = readonly number[];

export function packAddresses(addresses: readonly Address[]): string {
  return addresses.map((bytes) => String.fromCharCode(bytes.length, ...bytes)).join("");
}

export function unpackAddresses(packed: string): readonly Address[] {
  const addresses: Address[] = [];
  for (let at = 0; at < packed.length; ) {
    const length = packed.charCodeAt(at);
    addresses.push(bytesAt(packed, at + 1, length));
    at += 1 + length;
  }
  return addresses;
}

export function bytesAt(packed: string, start: number, length: number): Address {
  const bytes: number[] = [];
  for (let i = start; i < start + length; i++) bytes.push(packed.charCodeAt(i));
  return bytes;
}

/** A key for maps. That of an IPv4 address is a small integer, which takes no memory of its own. */
export function addressKey(bytes: Address): number | string {
  if (bytes.length !== 4) return String.fromCharCode(...bytes);
  return (bytes[0]! << 24) | (bytes[1]! << 16) | (bytes[2]! << 8) | bytes[3]!;
}
