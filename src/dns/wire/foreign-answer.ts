/**
 * An answer of another DNS server, kept as it came: only its records' places are known. The OPT
 * record is left out, since it belongs to one exchange. Reading one is linear in its length.
 */
import type { DnsRecord } from "../zone/records.ts";
import {
  FLAG_CHECKING_DISABLED,
  FLAG_RECURSION_AVAILABLE,
  FLAG_RECURSION_DESIRED,
  FLAG_RESPONSE,
  FLAG_TRUNCATED,
  HEADER_BYTES,
  TYPE_OPT,
  TYPE_SOA,
  typeName,
} from "./codes.ts";
import { OPT_BYTES, writeOpt } from "./encode-answer.ts";
import { endOfName, type Query } from "./parse-query.ts";
import { readName } from "./read-name.ts";

export interface ForeignAnswer {
  readonly bytes: Buffer;
  readonly rcode: number;
  readonly truncated: boolean;
  readonly questionEnd: number;
  readonly records: readonly RecordPlace[];
  /** The shortest of its records; undefined without records that have one. */
  readonly ttlSeconds: number | undefined;
}

interface RecordPlace {
  readonly section: "answer" | "authority" | "additional";
  readonly start: number;
  readonly type: number;
  /** Where type, class, TTL and length begin. */
  readonly fixed: number;
  readonly end: number;
}

/** Undefined unless it is a well-formed answer to that question, under that id. */
export function readForeignAnswer(
  packet: Buffer,
  id: number,
  question: Buffer,
): ForeignAnswer | undefined {
  const questionEnd = HEADER_BYTES + question.length;
  if (packet.length < questionEnd || packet.readUInt16BE(0) !== id) return undefined;
  const flags = packet.readUInt16BE(2);
  if ((flags & FLAG_RESPONSE) === 0 || packet.readUInt16BE(4) !== 1) return undefined;
  if (!isSameQuestion(packet.subarray(HEADER_BYTES, questionEnd), question)) return undefined;
  const places = readPlaces(packet, questionEnd);
  if (places === undefined) return undefined;
  const opt = places.findIndex(({ type }) => type === TYPE_OPT);
  // Records after OPT would move when it goes, and what points into them would be wrong.
  const records = opt < 0 ? places : places.slice(0, opt);
  const end = records.at(-1)?.end ?? questionEnd;
  const ttls = records.map(({ fixed, type, end }) => ttlOf(packet, fixed, type, end));
  return {
    bytes: Buffer.from(packet.subarray(0, end)),
    rcode: flags & 0xf,
    truncated: (flags & FLAG_TRUNCATED) !== 0,
    questionEnd,
    records,
    ttlSeconds: ttls.length === 0 ? undefined : Math.min(...ttls),
  };
}

/** The same answer for a client: its id, its question, its limits. */
export function encodeForeignAnswer(
  { bytes, questionEnd, records, rcode, truncated }: ForeignAnswer,
  query: Query,
  ttlSeconds: number,
  bytesMax: number,
): Buffer {
  const optBytes = query.edns === undefined ? 0 : OPT_BYTES;
  const kept = records.filter(({ end }) => end + optBytes <= bytesMax);
  const end = kept.at(-1)?.end ?? questionEnd;
  const isCut = records.some(({ section }, i) => i >= kept.length && section !== "additional");
  const packet = Buffer.allocUnsafe(end + optBytes);
  bytes.copy(packet, 0, 0, end);
  query.question.copy(packet, HEADER_BYTES);
  for (const { fixed } of kept) packet.writeUInt32BE(ttlSeconds, fixed + 4);
  if (optBytes > 0) writeOpt(packet, end, query.edns?.dnssecOk === true, rcode);
  packet.writeUInt16BE(query.id, 0);
  packet.writeUInt16BE(
    FLAG_RESPONSE |
      FLAG_RECURSION_AVAILABLE |
      (isCut || truncated ? FLAG_TRUNCATED : 0) |
      (query.recursionDesired ? FLAG_RECURSION_DESIRED : 0) |
      (query.checkingDisabled ? FLAG_CHECKING_DISABLED : 0) |
      rcode,
    2,
  );
  const count = (section: string): number => kept.filter((r) => r.section === section).length;
  packet.writeUInt16BE(count("answer"), 6);
  packet.writeUInt16BE(count("authority"), 8);
  packet.writeUInt16BE(count("additional") + (optBytes > 0 ? 1 : 0), 10);
  return packet;
}

/** The addresses and aliases in the answer, for one that is put together from several. */
export function addressesIn({ bytes, records }: ForeignAnswer): DnsRecord[] {
  return records.flatMap(({ section, start, fixed, type, end }): DnsRecord[] => {
    const name = section === "answer" ? readName(bytes, start) : undefined;
    if (name === undefined) return [];
    const kind = typeName(type);
    const content = bytes.subarray(fixed + 10, end);
    if (kind === "A" && content.length === 4) return [{ type: kind, name, address: [...content] }];
    if (kind === "AAAA" && content.length === 16)
      return [{ type: kind, name, address: [...content] }];
    const target = kind === "CNAME" ? readName(bytes, fixed + 10) : undefined;
    return target === undefined ? [] : [{ type: "CNAME", name, target }];
  });
}

function readPlaces(packet: Buffer, start: number): RecordPlace[] | undefined {
  const places: RecordPlace[] = [];
  let at = start;
  for (const [section, countAt] of SECTIONS) {
    for (let left = packet.readUInt16BE(countAt); left > 0; left--) {
      const fixed = endOfName(packet, at);
      if (fixed === undefined || fixed + 10 > packet.length) return undefined;
      const end = fixed + 10 + packet.readUInt16BE(fixed + 8);
      if (end > packet.length) return undefined;
      places.push({ section, start: at, type: packet.readUInt16BE(fixed), fixed, end });
      at = end;
    }
  }
  return places;
}

const SECTIONS = [
  ["answer", 6],
  ["authority", 8],
  ["additional", 10],
] as const;

/** For how long a negative answer holds is said by the SOA record's last field (RFC 2308). */
function ttlOf(packet: Buffer, fixed: number, type: number, end: number): number {
  const ttl = packet.readUInt32BE(fixed + 4);
  // A value with the highest bit set means zero (RFC 2181, 8).
  const seconds = ttl > 0x7fffffff ? 0 : ttl;
  const isSoa = type === TYPE_SOA && end - fixed >= 14;
  return isSoa ? Math.min(seconds, packet.readUInt32BE(end - 4)) : seconds;
}

function isSameQuestion(got: Buffer, asked: Buffer): boolean {
  if (got.equals(asked)) return true;
  const typeAt = asked.length - 4;
  return (
    got.subarray(typeAt).equals(asked.subarray(typeAt)) &&
    got.toString("latin1", 0, typeAt).toLowerCase() ===
      asked.toString("latin1", 0, typeAt).toLowerCase()
  );
}
