/** The two IP families, and sorting addresses and networks by them. */
import { formatIp, parseCidr, parseIp } from "#api/validation/ip.ts";

export type IpFamily = "IPv4" | "IPv6";

export const IP_FAMILIES: readonly IpFamily[] = ["IPv4", "IPv6"];

/** Addresses of one family in canonical form. What is no address is left out. */
export function addressesOf(family: IpFamily, texts: readonly string[]): string[] {
  return texts.flatMap((text) => {
    const ip = parseIp(text);
    return ip !== undefined && familyOf(ip.bytes) === family ? [formatIp(ip)] : [];
  });
}

/** Networks of one family, `address/length`. What is no network is left out. */
export function networksOf(family: IpFamily, texts: readonly string[]): string[] {
  return texts.flatMap((text) => {
    const cidr = parseCidr(text.trim());
    if (cidr === undefined || familyOf(cidr.address.bytes) !== family) return [];
    const bytes = maskedBytes(cidr.address.bytes, cidr.prefixBits);
    return [`${formatIp({ bytes })}/${cidr.prefixBits}`];
  });
}

export function isInNetwork(address: string, network: string): boolean {
  const ip = parseIp(address);
  const cidr = parseCidr(network);
  if (ip === undefined || cidr === undefined) return false;
  const { bytes } = cidr.address;
  if (ip.bytes.length !== bytes.length) return false;
  const left = maskedBytes(ip.bytes, cidr.prefixBits);
  const right = maskedBytes(bytes, cidr.prefixBits);
  return left.every((byte, i) => byte === right[i]);
}

/** Without duplicates and networks that lie inside another one: sets of networks may not overlap. */
export function outermost(networks: readonly string[]): string[] {
  const unique = [...new Set(networks)];
  return unique.filter(
    (inner) =>
      !unique.some(
        (outer) =>
          outer !== inner && isWider(outer, inner) && isInNetwork(inner.split("/")[0] ?? "", outer),
      ),
  );
}

function isWider(outer: string, inner: string): boolean {
  return Number(outer.split("/")[1]) < Number(inner.split("/")[1]);
}

function familyOf(bytes: readonly number[]): IpFamily {
  return bytes.length === 4 ? "IPv4" : "IPv6";
}

function maskedBytes(bytes: readonly number[], prefixBits: number): number[] {
  return bytes.map((byte, i) => {
    const bits = Math.min(8, Math.max(0, prefixBits - i * 8));
    return byte & (0xff << (8 - bits)) & 0xff;
  });
}
