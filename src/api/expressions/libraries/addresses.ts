/** IP addresses and networks in expressions. */
import type { Library } from "#api/cel/library.ts";
import { opaqueType } from "#api/cel/types/type.ts";
import { CelError, CelObject } from "#api/cel/values/value.ts";
import { goQuote } from "#api/meta/go-quote.ts";
import { formatIp, parseCidr, parseIp } from "#api/validation/ip.ts";

const IP_TYPE = opaqueType("net.IP");
const CIDR_TYPE = opaqueType("net.CIDR");

class IpValue extends CelObject {
  readonly type = IP_TYPE;
  readonly bytes: readonly number[];

  constructor(bytes: readonly number[]) {
    super();
    this.bytes = bytes;
  }

  equals(other: CelObject): boolean {
    return other instanceof IpValue && isSameBytes(this.bytes, other.bytes);
  }
}

class CidrValue extends CelObject {
  readonly type = CIDR_TYPE;
  readonly bytes: readonly number[];
  readonly bits: number;

  constructor(bytes: readonly number[], bits: number) {
    super();
    this.bytes = bytes;
    this.bits = bits;
  }

  equals(other: CelObject): boolean {
    return (
      other instanceof CidrValue && this.bits === other.bits && isSameBytes(this.bytes, other.bytes)
    );
  }
}

export const ipLibrary: Library = {
  types: [IP_TYPE],
  functions: {
    "string_to_ip ip(string) -> net.IP": (text: string) => readIp(text),
    "ip_family net.IP.family() -> int": ({ bytes }: IpValue) => (bytes.length === 4 ? 4n : 6n),
    "ip_is_canonical ip.isCanonical(string) -> bool": (text: string) =>
      formatIp(readIp(text)) === text,
    "ip_is_unspecified net.IP.isUnspecified() -> bool": ({ bytes }: IpValue) =>
      bytes.every((byte) => byte === 0),
    "ip_is_loopback net.IP.isLoopback() -> bool": ({ bytes }: IpValue) => isLoopback(bytes),
    "ip_is_link_local_multicast net.IP.isLinkLocalMulticast() -> bool": ({ bytes }: IpValue) =>
      isLinkLocalMulticast(bytes),
    "ip_is_link_local_unicast net.IP.isLinkLocalUnicast() -> bool": ({ bytes }: IpValue) =>
      isLinkLocalUnicast(bytes),
    "ip_is_global_unicast net.IP.isGlobalUnicast() -> bool": ({ bytes }: IpValue) =>
      isGlobalUnicast(bytes),
    "is_ip isIP(string) -> bool": (text: string) => succeeds(() => readIp(text)),
    "ip_to_string string(net.IP) -> string": formatIp,
  },
};

export const cidrLibrary: Library = {
  types: [CIDR_TYPE],
  functions: {
    "string_to_cidr cidr(string) -> net.CIDR": (text: string) => readCidr(text),
    "cidr_contains_ip_string net.CIDR.containsIP(string) -> bool": (
      cidr: CidrValue,
      text: string,
    ) => contains(cidr, readIp(text).bytes),
    "cidr_contains_ip_ip net.CIDR.containsIP(net.IP) -> bool": (cidr: CidrValue, ip: IpValue) =>
      contains(cidr, ip.bytes),
    "cidr_contains_cidr_string net.CIDR.containsCIDR(string) -> bool": (
      cidr: CidrValue,
      text: string,
    ) => containsCidr(cidr, readCidr(text)),
    "cidr_contains_cidr net.CIDR.containsCIDR(net.CIDR) -> bool": containsCidr,
    "cidr_ip net.CIDR.ip() -> net.IP": ({ bytes }: CidrValue) => new IpValue(bytes),
    "cidr_prefix_length net.CIDR.prefixLength() -> int": ({ bits }: CidrValue) => BigInt(bits),
    "cidr_masked net.CIDR.masked() -> net.CIDR": ({ bytes, bits }: CidrValue) =>
      new CidrValue(mask(bytes, bits), bits),
    "is_cidr isCIDR(string) -> bool": (text: string) => succeeds(() => readCidr(text)),
    "cidr_to_string string(net.CIDR) -> string": (cidr: CidrValue) =>
      `${formatIp(cidr)}/${cidr.bits}`,
  },
};

function readIp(text: string): IpValue {
  const parsed = parseIp(text);
  const failed = `IP Address ${goQuote(text)} parse error during conversion from string`;
  if (parsed === undefined || parsed.leadingZeros) {
    throw new CelError(`${failed}: ParseAddr(${goQuote(text)}): unable to parse IP`);
  }
  if (parsed.mapped) throw new CelError(`IPv4-mapped IPv6 address ${goQuote(text)} is not allowed`);
  return new IpValue(parsed.bytes);
}

function readCidr(text: string): CidrValue {
  const parsed = parseCidr(text);
  const failed = "network address parse error during conversion from string";
  if (parsed === undefined || parsed.leadingZeros) {
    throw new CelError(
      `${failed}: network address parse error during conversion from string: netip.ParsePrefix(${goQuote(text)}): no '/'`,
    );
  }
  if (parsed.address.mapped) {
    throw new CelError(`${failed}: IPv4-mapped IPv6 address ${goQuote(text)} is not allowed`);
  }
  return new CidrValue(parsed.address.bytes, parsed.prefixBits);
}

function succeeds(read: () => unknown): boolean {
  try {
    read();
    return true;
  } catch {
    return false;
  }
}

function isSameBytes(a: readonly number[], b: readonly number[]): boolean {
  return a.length === b.length && a.every((byte, i) => byte === b[i]);
}

function mask(bytes: readonly number[], bits: number): number[] {
  return bytes.map((byte, i) => {
    const kept = Math.min(Math.max(bits - 8 * i, 0), 8);
    return byte & (0xff00 >> kept) & 0xff;
  });
}

function contains({ bytes, bits }: CidrValue, other: readonly number[]): boolean {
  return isSameBytes(mask(bytes, bits), mask(other, bits));
}

function containsCidr(cidr: CidrValue, other: CidrValue): boolean {
  return cidr.bits <= other.bits && contains(cidr, other.bytes);
}

function isLoopback(bytes: readonly number[]): boolean {
  if (bytes.length === 4) return bytes[0] === 127;
  return bytes.every((byte, i) => byte === (i === 15 ? 1 : 0));
}

function isMulticast(bytes: readonly number[]): boolean {
  return bytes.length === 4 ? (bytes[0]! & 0xf0) === 0xe0 : bytes[0] === 0xff;
}

function isLinkLocalMulticast(bytes: readonly number[]): boolean {
  if (bytes.length === 4) return bytes[0] === 224 && bytes[1] === 0 && bytes[2] === 0;
  return bytes[0] === 0xff && (bytes[1]! & 0x0f) === 0x02;
}

function isLinkLocalUnicast(bytes: readonly number[]): boolean {
  if (bytes.length === 4) return bytes[0] === 169 && bytes[1] === 254;
  return bytes[0] === 0xfe && (bytes[1]! & 0xc0) === 0x80;
}

function isGlobalUnicast(bytes: readonly number[]): boolean {
  const isBroadcast = bytes.length === 4 && bytes.every((byte) => byte === 255);
  const isUnspecified = bytes.every((byte) => byte === 0);
  const isLocal = isLoopback(bytes) || isLinkLocalUnicast(bytes);
  return !isBroadcast && !isUnspecified && !isLocal && !isMulticast(bytes);
}
