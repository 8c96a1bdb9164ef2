/**
 * Stored objects as protobuf messages, made when first asked for and kept as long as the revision
 * they are of: lists and watchers share them.
 */
import { encodeProtobuf, readEnvelope } from "#api/codec/protobuf.ts";
import type { Revision } from "../storage/revision.ts";

const envelopes = new WeakMap<Revision, Uint8Array>();

/** With its envelope, as it is sent alone. */
export function envelopeOf(revision: Revision): Uint8Array {
  const known = envelopes.get(revision);
  if (known !== undefined) return known;
  const { kind, value } = revision;
  const typed = { ...value, kind: kind.names.kind, apiVersion: kind.apiVersion };
  const made = encodeProtobuf(kind.schema(), typed);
  envelopes.set(revision, made);
  return made;
}

/** The bare message, as it stands in a list. */
export function messageOf(revision: Revision): Uint8Array {
  const envelope = readEnvelope(envelopeOf(revision));
  if (!envelope.ok) throw new Error(envelope.error);
  return envelope.message;
}

const MAGIC = Buffer.from("k8s\0", "latin1");
/** No content encoding, no content type. */
const AFTER = Buffer.from([0x1a, 0, 0x22, 0]);

/** What stands around a message of this length. */
export function wrapMessage(
  kind: string,
  apiVersion: string,
  length: number,
): { readonly before: Buffer; readonly after: Buffer } {
  const type = Buffer.concat([
    field(0x0a, Buffer.from(apiVersion)),
    field(0x12, Buffer.from(kind)),
  ]);
  const before = Buffer.concat([MAGIC, field(0x0a, type), Buffer.from([0x12, ...varint(length)])]);
  return { before, after: AFTER };
}

function field(tag: number, bytes: Buffer): Buffer {
  return Buffer.concat([Buffer.from([tag, ...varint(bytes.length)]), bytes]);
}

function varint(value: number): number[] {
  const bytes: number[] = [];
  let rest = value;
  for (; rest > 127; rest = Math.floor(rest / 128)) bytes.push((rest % 128) | 128);
  return [...bytes, rest];
}
