/**
 * Addresses and networks in text. Fields older than strict checking take sloppy forms (leading
 * zeros, IPv4 inside IPv6) on updates that leave them as they are; `isIp` and `isCidr` are what a
 * legacy field asks of a new value, the `canonical` ones what new fields ask of every value.
 */
export interface IpAddress {
  /** 4 bytes, also for an IPv4 address written inside IPv6; otherwise 16. */
  readonly bytes: readonly number[];
  /** Written as ::ffff:a.b.c.d. */
  readonly mapped: boolean;
  /** Has digits that some readers take as octal. */
  readonly leadingZeros: boolean;
}

export interface Cidr {
  readonly address: IpAddress;
  /** The prefix length as written. */
  readonly prefixBits: number;
  readonly leadingZeros: boolean;
}

const IP_FAULT = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";
const CIDR_FAULT = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)";
const MAPPED_PREFIX = [0, 0, 0, 0, 0, 0xffff];

export function isIp(value: string): string[] {
  const ip = parseIp(value);
  if (ip === undefined) return [IP_FAULT];
  const faults: string[] = [];
  if (ip.leadingZeros) faults.push("must not have leading 0s");
  else if (ip.mapped) faults.push("must not be an IPv4-mapped IPv6 address");
  return faults;
}

export function isCanonicalIp(value: string): string[] {
  const faults = isIp(value);
  if (faults.length > 0) return faults;
  const canonical = formatIp(parseIp(value)!);
  return value === canonical ? [] : [`must be in canonical form ("${canonical}")`];
}

export function isCidr(value: string): string[] {
  const cidr = parseCidr(value);
  if (cidr === undefined) return [CIDR_FAULT];
  if (cidr.leadingZeros) return ["must not have leading 0s in IP or prefix length"];
  if (cidr.address.mapped) return ["must not have an IPv4-mapped IPv6 address"];
  return hasHostBits(cidr) ? ["must not have bits set beyond the prefix length"] : [];
}

export function isCanonicalCidr(value: string): string[] {
  const faults = isCidr(value);
  if (faults.length > 0) return faults;
  const canonical = formatNetwork(parseCidr(value)!);
  return value === canonical ? [] : [`must be in canonical form ("${canonical}")`];
}

/** An address with the length of its subnet: `192.0.2.5/24`. */
export function isInterfaceAddress(value: string): string[] {
  const cidr = parseCidr(value);
  if (cidr === undefined) {
    return ["must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)"];
  }
  const bits = cidr.address.mapped && cidr.prefixBits > 32 ? cidr.prefixBits - 96 : cidr.prefixBits;
  const canonical = `${formatIp(cidr.address)}/${bits}`;
  return value === canonical ? [] : [`must be in canonical form ("${canonical}")`];
}

/** What to warn about in an address that a legacy field lets pass. */
export function ipWarnings(path: { toString(): string }, value: string): string[] {
  const ip = parseIp(value);
  if (ip === undefined) return [];
  const canonical = formatIp(ip);
  if (ip.leadingZeros || ip.mapped) {
    return [`${path}: non-standard IP address "${value}" is invalid: use "${canonical}"`];
  }
  if (ip.bytes.length === 16 && canonical !== value) {
    return [
      `${path}: IPv6 address "${value}" should be in RFC 5952 canonical format ("${canonical}")`,
    ];
  }
  return [];
}

/** What to warn about in a network that a legacy field lets pass. */
export function cidrWarnings(path: { toString(): string }, value: string): string[] {
  const cidr = parseCidr(value);
  if (cidr === undefined) return [];
  const warnings: string[] = [];
  const network = formatNetwork(cidr);
  if (hasHostBits(cidr)) {
    const single = `${formatIp(cidr.address)}/${cidr.address.bytes.length === 4 && !cidr.address.mapped ? 32 : 128}`;
    warnings.push(
      `${path}: CIDR value "${value}" is ambiguous in this context (should be "${network}" or "${single}"?)`,
    );
  }
  if (cidr.leadingZeros || cidr.address.mapped) {
    warnings.push(`${path}: non-standard CIDR value "${value}" is invalid: use "${network}"`);
  }
  if (warnings.length === 0 && cidr.address.bytes.length === 16 && network !== value) {
    warnings.push(
      `${path}: IPv6 CIDR value "${value}" should be in RFC 5952 canonical format ("${network}")`,
    );
  }
  return warnings;
}

export function parseIp(text: string): IpAddress | undefined {
  return text.includes(":") ? parseIpv6(text) : parseIpv4(text);
}

export function parseCidr(text: string): Cidr | undefined {
  const slash = text.indexOf("/");
  if (slash < 0) return undefined;
  const address = parseIp(text.slice(0, slash));
  const bitsText = text.slice(slash + 1);
  if (address === undefined || !/^[0-9]+$/.test(bitsText)) return undefined;
  const prefixBits = Number(bitsText);
  const bitsMax = address.bytes.length === 4 && !address.mapped ? 32 : 128;
  if (prefixBits > bitsMax) return undefined;
  return {
    address,
    prefixBits,
    leadingZeros: address.leadingZeros || (bitsText.length > 1 && bitsText.startsWith("0")),
  };
}

/** Dotted for IPv4 (mapped too), the shortest form of RFC 5952 for IPv6. */
export function formatIp({ bytes }: Pick<IpAddress, "bytes">): string {
  if (bytes.length === 4) return bytes.join(".");
  const groups = Array.from({ length: 8 }, (_, i) => (bytes[2 * i]! << 8) | bytes[2 * i + 1]!);
  const run = longestZeroRun(groups);
  const hex = (part: readonly number[]) => part.map((group) => group.toString(16)).join(":");
  if (run === undefined) return hex(groups);
  return `${hex(groups.slice(0, run.start))}::${hex(groups.slice(run.end))}`;
}

export function isIpv6(text: string): boolean {
  return parseIp(text)?.bytes.length === 16;
}

export function isIpv6Cidr(text: string): boolean {
  return parseCidr(text)?.address.bytes.length === 16;
}

function formatNetwork(cidr: Cidr): string {
  const { address } = cidr;
  const bits = address.mapped ? Math.max(cidr.prefixBits - 96, 0) : cidr.prefixBits;
  return `${formatIp({ bytes: masked(address.bytes, bits) })}/${bits}`;
}

function hasHostBits({ address, prefixBits }: Cidr): boolean {
  const bits = address.mapped ? Math.max(prefixBits - 96, 0) : prefixBits;
  const network = masked(address.bytes, bits);
  return address.bytes.some((byte, i) => byte !== network[i]);
}

function masked(bytes: readonly number[], bits: number): number[] {
  return bytes.map((byte, i) => {
    const kept = Math.min(Math.max(bits - 8 * i, 0), 8);
    return byte & (0xff << (8 - kept)) & 0xff;
  });
}

function parseIpv4(text: string): IpAddress | undefined {
  const parts = text.split(".");
  if (parts.length !== 4 || !parts.every((part) => /^[0-9]+$/.test(part))) return undefined;
  const bytes = parts.map(Number);
  if (bytes.some((byte) => byte > 255)) return undefined;
  const leadingZeros = parts.some((part) => part.length > 1 && part.startsWith("0"));
  return { bytes, mapped: false, leadingZeros };
}

function parseIpv6(text: string): IpAddress | undefined {
  const halves = text.split("::");
  if (halves.length > 2) return undefined;
  const head = parseGroups(halves[0]!, halves.length === 1);
  const tail = halves.length === 2 ? parseGroups(halves[1]!, true) : { groups: [], zeros: false };
  if (head === undefined || tail === undefined) return undefined;
  const missing = 8 - head.groups.length - tail.groups.length;
  if (halves.length === 2 ? missing < 1 : missing !== 0) return undefined;

  const groups = [...head.groups, ...new Array<number>(missing).fill(0), ...tail.groups];
  const bytes = groups.flatMap((group) => [group >> 8, group & 0xff]);
  const mapped = MAPPED_PREFIX.every((group, i) => groups[i] === group);
  return {
    bytes: mapped ? bytes.slice(12) : bytes,
    mapped,
    leadingZeros: head.zeros || tail.zeros,
  };
}

/** The 16-bit groups of one side of `::`; only the last may be a dotted IPv4 address. */
function parseGroups(
  text: string,
  last: boolean,
): { readonly groups: readonly number[]; readonly zeros: boolean } | undefined {
  if (text === "") return { groups: [], zeros: false };
  const parts = text.split(":");
  const groups: number[] = [];
  let zeros = false;
  for (const [i, part] of parts.entries()) {
    if (last && i === parts.length - 1 && part.includes(".")) {
      const dotted = parseIpv4(part);
      if (dotted === undefined) return undefined;
      const [a, b, c, d] = dotted.bytes as [number, number, number, number];
      groups.push((a << 8) | b, (c << 8) | d);
      zeros ||= dotted.leadingZeros;
      continue;
    }
    if (!/^[0-9a-fA-F]+$/.test(part)) return undefined;
    const group = Number.parseInt(part, 16);
    if (group > 0xffff) return undefined;
    zeros ||= part.length > 4;
    groups.push(group);
  }
  return { groups, zeros };
}

function longestZeroRun(groups: readonly number[]): { start: number; end: number } | undefined {
  let best: { start: number; end: number } | undefined;
  for (let start = 0; start < groups.length; start++) {
    let end = start;
    while (end < groups.length && groups[end] === 0) end++;
    if (end - start >= 2 && (best === undefined || end - start > best.end - best.start)) {
      best = { start, end };
    }
    if (end > start) start = end;
  }
  return best;
}
