/** Numbers of the DNS protocol: header flags, response codes and record types. */
export const HEADER_BYTES = 12;
/** The largest message without EDNS over UDP. */
export const UDP_BYTES_MIN = 512;
/** The largest message that is sent over UDP: it fits the MTU of every network, so it is never fragmented. */
export const UDP_BYTES_MAX = 1232;
export const MESSAGE_BYTES_MAX = 65_535;

export const FLAG_RESPONSE = 0x8000;
export const FLAG_AUTHORITATIVE = 0x0400;
export const FLAG_TRUNCATED = 0x0200;
export const FLAG_RECURSION_DESIRED = 0x0100;
export const FLAG_RECURSION_AVAILABLE = 0x0080;
export const FLAG_CHECKING_DISABLED = 0x0010;
export const OPCODE_MASK = 0x7800;

export const CLASS_IN = 1;
export const TYPE_OPT = 41;
export const TYPE_SOA = 6;

export const RCODES = {
  NOERROR: 0,
  FORMERR: 1,
  SERVFAIL: 2,
  NXDOMAIN: 3,
  NOTIMP: 4,
  REFUSED: 5,
  BADVERS: 16,
} as const;
export type Rcode = keyof typeof RCODES;

const TYPE_NAMES: ReadonlyMap<number, string> = new Map([
  [1, "A"],
  [2, "NS"],
  [5, "CNAME"],
  [6, "SOA"],
  [12, "PTR"],
  [13, "HINFO"],
  [15, "MX"],
  [16, "TXT"],
  [28, "AAAA"],
  [33, "SRV"],
  [35, "NAPTR"],
  [43, "DS"],
  [48, "DNSKEY"],
  [64, "SVCB"],
  [65, "HTTPS"],
  [251, "IXFR"],
  [252, "AXFR"],
  [255, "ANY"],
]);

const TYPE_NUMBERS: ReadonlyMap<string, number> = new Map(
  [...TYPE_NAMES].map(([number, name]) => [name, number]),
);

/** `other` for a type that has no name here, which is also its label in metrics. */
export function typeName(type: number): string {
  return TYPE_NAMES.get(type) ?? "other";
}

export function typeNumber(name: string): number {
  return TYPE_NUMBERS.get(name) ?? 0;
}

const RCODE_NAMES: ReadonlyMap<number, string> = new Map(
  Object.entries(RCODES).map(([name, number]) => [number, name]),
);

export function rcodeName(rcode: number): string {
  return RCODE_NAMES.get(rcode) ?? String(rcode);
}
