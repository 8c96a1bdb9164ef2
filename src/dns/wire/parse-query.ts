/**
 * Parses a query from untrusted bytes. The time it takes is linear in the length of
 * the question, and at most three further records are looked at, whatever the header claims.
 */
import {
  FLAG_CHECKING_DISABLED,
  FLAG_RECURSION_DESIRED,
  FLAG_RESPONSE,
  HEADER_BYTES,
  OPCODE_MASK,
  type Rcode,
  TYPE_OPT,
} from "./codes.ts";

export interface Query {
  readonly id: number;
  /** Lower case, without the dot at the end; the root is empty. */
  readonly name: string;
  readonly type: number;
  readonly class: number;
  readonly recursionDesired: boolean;
  readonly checkingDisabled: boolean;
  /** The question as it was sent: name, type and class. */
  readonly question: Buffer;
  readonly edns: Edns | undefined;
}

export interface Edns {
  /** The largest UDP message that the client takes. */
  readonly udpBytes: number;
  readonly version: number;
  readonly dnssecOk: boolean;
}

export type ParsedQuery =
  | { readonly outcome: "query"; readonly query: Query }
  /** Not answered: a response, or too short to have an id. */
  | { readonly outcome: "ignored" }
  /** Answered with the header alone. */
  | {
      readonly outcome: "refused";
      readonly id: number;
      readonly flags: number;
      readonly rcode: Rcode;
    };

const LABEL_BYTES_MAX = 63;
const NAME_BYTES_MAX = 255;
/** As CoreDNS: an answer or authority record may come with a query of another kind; OPT and TSIG. */
const ANSWERS_MAX = 1;
const AUTHORITIES_MAX = 1;
const ADDITIONALS_MAX = 2;
const DNSSEC_OK = 0x8000;

export function parseQuery(packet: Buffer): ParsedQuery {
  if (packet.length < HEADER_BYTES) return { outcome: "ignored" };
  const id = packet.readUInt16BE(0);
  const flags = packet.readUInt16BE(2);
  if ((flags & FLAG_RESPONSE) !== 0) return { outcome: "ignored" };
  if ((flags & OPCODE_MASK) !== 0) return { outcome: "refused", id, flags, rcode: "NOTIMP" };
  const query = readQuery(packet, id, flags);
  return query === undefined
    ? { outcome: "refused", id, flags, rcode: "FORMERR" }
    : { outcome: "query", query };
}

function readQuery(packet: Buffer, id: number, flags: number): Query | undefined {
  const answers = packet.readUInt16BE(6);
  const authorities = packet.readUInt16BE(8);
  const additionals = packet.readUInt16BE(10);
  if (packet.readUInt16BE(4) !== 1 || answers > ANSWERS_MAX) return undefined;
  if (authorities > AUTHORITIES_MAX || additionals > ADDITIONALS_MAX) return undefined;
  const named = readQuestionName(packet);
  if (named === undefined || named.end + 4 > packet.length) return undefined;
  const { name, end } = named;
  const rest = readRecords(packet, end + 4, answers + authorities, additionals);
  if (rest === undefined) return undefined;
  return {
    id,
    name,
    type: packet.readUInt16BE(end),
    class: packet.readUInt16BE(end + 2),
    recursionDesired: (flags & FLAG_RECURSION_DESIRED) !== 0,
    checkingDisabled: (flags & FLAG_CHECKING_DISABLED) !== 0,
    question: packet.subarray(HEADER_BYTES, end + 4),
    edns: rest.edns,
  };
}

/** The first name of a message has nothing before it to point to, so it is never compressed. */
function readQuestionName(
  packet: Buffer,
): { readonly name: string; readonly end: number } | undefined {
  let at = HEADER_BYTES;
  let name = "";
  for (;;) {
    const length = packet[at];
    if (length === undefined || length > LABEL_BYTES_MAX) return undefined;
    at += 1;
    if (length === 0) return { name: name.toLowerCase(), end: at };
    if (at + length > packet.length || at + length - HEADER_BYTES >= NAME_BYTES_MAX)
      return undefined;
    const label = packet.toString("latin1", at, at + length);
    // Escaped, a dot inside a label is never taken for the end of one, and no two names are the same.
    const text = /[.\\]/.test(label) ? label.replace(/[.\\]/g, escaped) : label;
    name = name === "" ? text : `${name}.${text}`;
    at += length;
  }
}

function readRecords(
  packet: Buffer,
  start: number,
  others: number,
  additionals: number,
): { readonly edns: Edns | undefined } | undefined {
  let edns: Edns | undefined;
  let at = start;
  for (let index = 0; index < others + additionals; index++) {
    const isRoot = packet[at] === 0;
    const fixed = endOfName(packet, at);
    if (fixed === undefined || fixed + 10 > packet.length) return undefined;
    const end = fixed + 10 + packet.readUInt16BE(fixed + 8);
    if (end > packet.length) return undefined;
    if (packet.readUInt16BE(fixed) === TYPE_OPT) {
      if (edns !== undefined || !isRoot || index < others) return undefined;
      edns = {
        udpBytes: packet.readUInt16BE(fixed + 2),
        version: packet[fixed + 5]!,
        dnssecOk: (packet.readUInt16BE(fixed + 6) & DNSSEC_OK) !== 0,
      };
    }
    at = end;
  }
  return { edns };
}

/** The end of a name in place: pointers are not followed. Undefined if it is cut off or malformed. */
export function endOfName(packet: Buffer, start: number): number | undefined {
  let at = start;
  for (;;) {
    const length = packet[at];
    if (length === undefined) return undefined;
    if (length === 0) return at + 1;
    if (length >= 0xc0) return at + 2 <= packet.length ? at + 2 : undefined;
    if (length > LABEL_BYTES_MAX || at - start >= NAME_BYTES_MAX) return undefined;
    at += length + 1;
  }
}

/** As master files have it: a backslash and the byte in decimal. */
function escaped(character: string): string {
  return `\\${character.charCodeAt(0).toString().padStart(3, "0")}`;
}
