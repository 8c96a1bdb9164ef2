/**
 * Writes answers. Owner names are compressed (RFC 1035, 4.1.4), targets of SRV records are not
 * (RFC 2782). A message that is too long for the client is cut at a record and marked as truncated.
 */
import { assertNever } from "#lib/assert-never.ts";
import type { DnsRecord } from "../zone/records.ts";
import {
  CLASS_IN,
  FLAG_AUTHORITATIVE,
  FLAG_CHECKING_DISABLED,
  FLAG_RECURSION_AVAILABLE,
  FLAG_RECURSION_DESIRED,
  FLAG_RESPONSE,
  FLAG_TRUNCATED,
  HEADER_BYTES,
  MESSAGE_BYTES_MAX,
  OPCODE_MASK,
  RCODES,
  type Rcode,
  TYPE_OPT,
  typeNumber,
  UDP_BYTES_MAX,
} from "./codes.ts";
import type { Query } from "./parse-query.ts";

export interface Answer {
  readonly rcode: Rcode;
  readonly authoritative: boolean;
  readonly recursionAvailable: boolean;
  readonly ttlSeconds: number;
  readonly answers: readonly DnsRecord[];
  readonly authorities: readonly DnsRecord[];
  readonly additionals: readonly DnsRecord[];
}

export const OPT_BYTES = 11;
const POINTER = 0xc000;
const POINTER_OFFSET_MAX = 0x3fff;
/** A name, the fixed fields and the longest content that is written here. */
const RECORD_BYTES_MAX = 1_100;

/** Has a buffer of its own, in which one answer after the other is written. */
export class AnswerEncoder {
  readonly #buffer = Buffer.allocUnsafeSlow(MESSAGE_BYTES_MAX + RECORD_BYTES_MAX);
  #at = 0;
  /** Where names stand that others may point to. */
  readonly #offsets = new Map<string, number>();
  /** Until its suffixes are among the offsets, too: most answers have no other name. */
  #questionName = "";

  encode(query: Query, answer: Answer, bytesMax: number): Buffer {
    const buffer = this.#buffer;
    const limit = bytesMax - (query.edns === undefined ? 0 : OPT_BYTES);
    this.#at = HEADER_BYTES + query.question.copy(buffer, HEADER_BYTES);
    this.#offsets.clear();
    this.#questionName = query.name;
    if (query.name !== "") this.#offsets.set(query.name, HEADER_BYTES);
    const { ttlSeconds } = answer;
    const answers = this.#section(answer.answers, ttlSeconds, limit);
    const isTruncated = answers < answer.answers.length;
    const authorities = isTruncated ? 0 : this.#section(answer.authorities, ttlSeconds, limit);
    // The addresses of targets are a courtesy: to leave them out is no truncation.
    const additionals = isTruncated ? 0 : this.#section(answer.additionals, ttlSeconds, limit);
    const rcode = RCODES[answer.rcode];
    if (query.edns !== undefined)
      this.#at += writeOpt(buffer, this.#at, query.edns.dnssecOk, rcode);
    buffer.writeUInt16BE(query.id, 0);
    buffer.writeUInt16BE(flagsOf(query, answer, isTruncated), 2);
    buffer.writeUInt16BE(1, 4);
    buffer.writeUInt16BE(answers, 6);
    buffer.writeUInt16BE(authorities, 8);
    buffer.writeUInt16BE(additionals + (query.edns === undefined ? 0 : 1), 10);
    return Buffer.from(buffer.subarray(0, this.#at));
  }

  /** Answers how many of the records fit. */
  #section(records: readonly DnsRecord[], ttlSeconds: number, limit: number): number {
    let count = 0;
    for (const record of records) {
      const start = this.#at;
      this.#record(record, ttlSeconds);
      if (this.#at > limit) {
        this.#at = start;
        break;
      }
      count += 1;
    }
    return count;
  }

  #record(record: DnsRecord, ttlSeconds: number): void {
    const buffer = this.#buffer;
    this.#name(record.name);
    this.#at = buffer.writeUInt16BE(typeNumber(record.type), this.#at);
    this.#at = buffer.writeUInt16BE(CLASS_IN, this.#at);
    this.#at = buffer.writeUInt32BE(ttlSeconds, this.#at);
    const lengthAt = this.#at;
    this.#at += 2;
    this.#content(record);
    buffer.writeUInt16BE(this.#at - lengthAt - 2, lengthAt);
  }

  #content(record: DnsRecord): void {
    const buffer = this.#buffer;
    switch (record.type) {
      case "A":
      case "AAAA":
        for (const byte of record.address) buffer[this.#at++] = byte;
        return;
      case "CNAME":
      case "NS":
      case "PTR":
        this.#name(record.target);
        return;
      case "SRV":
        this.#at = buffer.writeUInt16BE(record.priority, this.#at);
        this.#at = buffer.writeUInt16BE(record.weight, this.#at);
        this.#at = buffer.writeUInt16BE(record.port, this.#at);
        this.#wholeName(record.target);
        return;
      case "TXT":
        buffer[this.#at] = buffer.write(record.text, this.#at + 1, "latin1");
        this.#at += 1 + record.text.length;
        return;
      case "SOA":
        this.#name(record.nameServer);
        this.#name(record.mailbox);
        this.#at = buffer.writeUInt32BE(record.serial >>> 0, this.#at);
        this.#at = buffer.writeUInt32BE(record.refreshSeconds, this.#at);
        this.#at = buffer.writeUInt32BE(record.retrySeconds, this.#at);
        this.#at = buffer.writeUInt32BE(record.expireSeconds, this.#at);
        this.#at = buffer.writeUInt32BE(record.minimumSeconds, this.#at);
        return;
      default:
        assertNever(record);
    }
  }

  /** Labels until one from which on the name stands in the message already. */
  #name(name: string): void {
    let rest = name;
    if (!this.#offsets.has(name)) this.#addQuestionSuffixes();
    while (rest !== "") {
      const known = this.#offsets.get(rest);
      if (known !== undefined) {
        this.#at = this.#buffer.writeUInt16BE(POINTER | known, this.#at);
        return;
      }
      if (this.#at <= POINTER_OFFSET_MAX) this.#offsets.set(rest, this.#at);
      rest = this.#label(rest);
    }
    this.#buffer[this.#at++] = 0;
  }

  #addQuestionSuffixes(): void {
    const name = this.#questionName;
    this.#questionName = "";
    if (name.includes("\\")) return; // labels with a dot inside: not of this zone
    for (let dot = name.indexOf("."); dot >= 0; dot = name.indexOf(".", dot + 1)) {
      this.#offsets.set(name.slice(dot + 1), HEADER_BYTES + dot + 1);
    }
  }

  #wholeName(name: string): void {
    let rest = name;
    while (rest !== "") rest = this.#label(rest);
    this.#buffer[this.#at++] = 0;
  }

  /** Writes the first label; answers what follows it. */
  #label(name: string): string {
    const dot = name.indexOf(".");
    const label = dot < 0 ? name : name.slice(0, dot);
    this.#buffer[this.#at] = label.length;
    this.#at += 1 + this.#buffer.write(label, this.#at + 1, "latin1");
    return dot < 0 ? "" : name.slice(dot + 1);
  }
}

/** The answer to what is no query: a header that says so. */
export function encodeRefusal(id: number, flags: number, rcode: Rcode): Buffer {
  const packet = Buffer.alloc(HEADER_BYTES);
  packet.writeUInt16BE(id, 0);
  const kept = flags & (OPCODE_MASK | FLAG_RECURSION_DESIRED | FLAG_CHECKING_DISABLED);
  packet.writeUInt16BE(FLAG_RESPONSE | kept | RCODES[rcode], 2);
  return packet;
}

/** The OPT record of an answer. Answers its length. */
export function writeOpt(buffer: Buffer, at: number, dnssecOk: boolean, rcode: number): number {
  buffer[at] = 0;
  buffer.writeUInt16BE(TYPE_OPT, at + 1);
  buffer.writeUInt16BE(UDP_BYTES_MAX, at + 3);
  buffer[at + 5] = rcode >> 4;
  buffer[at + 6] = 0;
  buffer.writeUInt16BE(dnssecOk ? 0x8000 : 0, at + 7);
  buffer.writeUInt16BE(0, at + 9);
  return OPT_BYTES;
}

function flagsOf(query: Query, answer: Answer, isTruncated: boolean): number {
  return (
    FLAG_RESPONSE |
    (answer.authoritative ? FLAG_AUTHORITATIVE : 0) |
    (isTruncated ? FLAG_TRUNCATED : 0) |
    (query.recursionDesired ? FLAG_RECURSION_DESIRED : 0) |
    (answer.recursionAvailable ? FLAG_RECURSION_AVAILABLE : 0) |
    (query.checkingDisabled ? FLAG_CHECKING_DISABLED : 0) |
    (RCODES[answer.rcode] & 0xf)
  );
}
