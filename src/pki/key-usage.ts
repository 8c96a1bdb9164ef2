/** What a key may be used for, as certificates say it: bits for the key itself, purposes beside. */
import { der } from "#lib/der/write-der.ts";

/** The bit of each usage, under its name in CertificateSigningRequests. */
const BITS = {
  signing: 0,
  "digital signature": 0,
  "content commitment": 1,
  "key encipherment": 2,
  "data encipherment": 3,
  "key agreement": 4,
  "cert sign": 5,
  "crl sign": 6,
  "encipher only": 7,
  "decipher only": 8,
} as const;

/** The identifier of each purpose, in the order in which certificates list them. */
const PURPOSES = {
  any: "2.5.29.37.0",
  "server auth": "1.3.6.1.5.5.7.3.1",
  "client auth": "1.3.6.1.5.5.7.3.2",
  "code signing": "1.3.6.1.5.5.7.3.3",
  "email protection": "1.3.6.1.5.5.7.3.4",
  "s/mime": "1.3.6.1.5.5.7.3.4",
  "ipsec end system": "1.3.6.1.5.5.7.3.5",
  "ipsec tunnel": "1.3.6.1.5.5.7.3.6",
  "ipsec user": "1.3.6.1.5.5.7.3.7",
  timestamping: "1.3.6.1.5.5.7.3.8",
  "ocsp signing": "1.3.6.1.5.5.7.3.9",
  "microsoft sgc": "1.3.6.1.4.1.311.10.3.3",
  "netscape sgc": "2.16.840.1.113730.4.1",
} as const;

export type KeyUsage = keyof typeof BITS | keyof typeof PURPOSES;

export function isKeyUsage(text: string): text is KeyUsage {
  return Object.hasOwn(BITS, text) || Object.hasOwn(PURPOSES, text);
}

/** A BIT STRING, or undefined if no usage has a bit. */
export function usageBits(usages: readonly KeyUsage[]): Buffer | undefined {
  const bits = usages.flatMap((usage) =>
    Object.hasOwn(BITS, usage) ? BITS[usage as keyof typeof BITS] : [],
  );
  if (bits.length === 0) return undefined;
  const highest = Math.max(...bits);
  const bytes = Buffer.alloc(highest < 8 ? 1 : 2);
  // Bit 0 is the highest; DER leaves zero bits at the end away.
  for (const bit of bits) bytes[bit >> 3]! |= 0x80 >> (bit & 7);
  return der.bits(bytes, 7 - (highest & 7));
}

/** A SEQUENCE of identifiers, or undefined if no usage is a purpose. */
export function purposes(usages: readonly KeyUsage[]): Buffer | undefined {
  const asked = new Set<string>(usages);
  const known = Object.entries(PURPOSES).filter(([usage]) => asked.has(usage));
  const oids = [...new Set(known.map(([, oid]) => oid))];
  return oids.length === 0 ? undefined : der.sequence(...oids.map(der.oid));
}
