/**
 * `application/vnd.kubernetes.protobuf`, both ways, for every built-in type that has it.
 *
 * Promises:
 * 1. Decoding gives the normal form, as decodeJson does; unknown fields are passed over.
 * 2. Encoding an object in normal form gives the bytes that upstream gives for it.
 * 3. No bytes make decoding throw, hang or grow beyond a small multiple of their length.
 *
 * On the wire an object is the magic `k8s\0` and an envelope that names its version and kind.
 * A watch sends frames: four bytes of length, then a WatchEvent whose object is such an envelope.
 */
import type { StructSchema } from "#api/schema/schema.ts";
import { type Decoded, normalize } from "./json.ts";
import { messageDecoderOf } from "./proto-decoder.ts";
import { messageEncoderOf } from "./proto-encoder.ts";
import { ProtobufError, ProtobufExcess, type ProtoLimits, ProtoReader } from "./proto-reader.ts";
import { writeText } from "./proto-values.ts";
import { ProtoWriter } from "./proto-writer.ts";

const MAGIC = Uint8Array.of(0x6b, 0x38, 0x73, 0x00);

const EMPTY = new Uint8Array();

/** Scratch memory: nothing stays in it between two objects, and encoding never waits for anything. */
const scratch = new ProtoWriter();

/** A field of number n that holds bytes, text or a message. */
const FIRST = 0x0a;
const SECOND = 0x12;
const THIRD = 0x1a;
const FOURTH = 0x22;

export type Envelope =
  | {
      readonly ok: true;
      readonly apiVersion: string;
      readonly kind: string;
      /** The object's message, for decodeProtobuf. */
      readonly message: Uint8Array;
    }
  | { readonly ok: false; readonly error: string };

export function readEnvelope(bytes: Uint8Array): Envelope {
  if (bytes.length === 0) return { ok: false, error: "empty data" };
  if (MAGIC.some((byte, i) => bytes[i] !== byte)) {
    const error = `provided data does not appear to be a protobuf message, expected prefix [${MAGIC.join(" ")}]`;
    return { ok: false, error };
  }
  if (bytes.length === MAGIC.length) return { ok: false, error: "empty body" };
  return guarded(() => {
    let apiVersion = "";
    let kind = "";
    let message: Uint8Array = EMPTY;
    const r = new ProtoReader(bytes);
    r.at = MAGIC.length;
    const end = bytes.length;
    while (r.at < end) {
      const tag = r.uint32(end);
      if (tag === FIRST) [apiVersion, kind] = readTypeMeta(r, r.end(end));
      else if (tag === SECOND) message = r.slice(end);
      else r.skip(tag, end);
    }
    return { ok: true, apiVersion, kind, message };
  });
}

/** `isExcess`: it holds more than the limits allow. */
export type DecodedMessage =
  | Extract<Decoded, { ok: true }>
  | { readonly ok: false; readonly error: string; readonly isExcess?: boolean };

/** The object in a message; it names neither its version nor its kind. */
export function decodeProtobuf(
  schema: StructSchema,
  message: Uint8Array,
  limits?: ProtoLimits,
): DecodedMessage {
  return guarded(() => {
    const reader = new ProtoReader(message, limits);
    const value = messageDecoderOf(schema)(reader, message.length, {});
    return normalize(schema, value);
  });
}

/** Runs a reader of untrusted bytes: what it cannot read is an answer, not an exception. */
function guarded<T>(read: () => T): T | { ok: false; error: string; isExcess?: boolean } {
  try {
    return read();
  } catch (error) {
    if (error instanceof ProtobufExcess) {
      return { ok: false, error: error.message, isExcess: true };
    }
    if (error instanceof ProtobufError) return { ok: false, error: error.message };
    throw error;
  }
}

function readTypeMeta(r: ProtoReader, end: number): [apiVersion: string, kind: string] {
  let apiVersion = "";
  let kind = "";
  while (r.at < end) {
    const tag = r.uint32(end);
    if (tag === FIRST) apiVersion = r.string(end);
    else if (tag === SECOND) kind = r.string(end);
    else r.skip(tag, end);
  }
  return [apiVersion, kind];
}

/** An object in normal form as it goes over the wire, with magic and envelope. */
export function encodeProtobuf(
  schema: StructSchema,
  object: { readonly apiVersion?: string; readonly kind?: string },
): Uint8Array {
  const w = scratch;
  w.clear(); // an encoder may have thrown
  writeText(w, "");
  w.byte(FOURTH);
  writeText(w, "");
  w.byte(THIRD);
  const message = w.size;
  messageEncoderOf(schema)(w, object as Readonly<Record<string, unknown>>);
  w.uint32(w.size - message);
  w.byte(SECOND);
  const typeMeta = w.size;
  writeText(w, object.kind ?? "");
  w.byte(SECOND);
  writeText(w, object.apiVersion ?? "");
  w.byte(FIRST);
  w.uint32(w.size - typeMeta);
  w.byte(FIRST);
  w.raw(MAGIC);
  return w.finish();
}

/** A frame of a watch; `object` is encoded already, with its envelope. */
export function encodeWatchFrame(type: string, object: Uint8Array): Uint8Array {
  const w = new ProtoWriter();
  w.raw(object);
  w.uint32(object.length);
  w.byte(FIRST);
  w.uint32(w.size);
  w.byte(SECOND);
  writeText(w, type);
  w.byte(FIRST);
  const { size } = w;
  w.raw([size >>> 24, (size >>> 16) & 0xff, (size >>> 8) & 0xff, size & 0xff]);
  return w.finish();
}

export type WatchFrame =
  | { readonly ok: true; readonly type: string; readonly object: Uint8Array }
  | { readonly ok: false; readonly error: string };

/** The event in a frame, its four bytes of length taken off. */
export function decodeWatchFrame(frame: Uint8Array): WatchFrame {
  return guarded(() => {
    let type = "";
    let object: Uint8Array = EMPTY;
    const r = new ProtoReader(frame);
    const end = frame.length;
    while (r.at < end) {
      const tag = r.uint32(end);
      if (tag === FIRST) type = r.string(end);
      else if (tag === SECOND) object = readRaw(r, r.end(end));
      else r.skip(tag, end);
    }
    return { ok: true, type, object };
  });
}

function readRaw(r: ProtoReader, end: number): Uint8Array {
  let raw: Uint8Array = EMPTY;
  while (r.at < end) {
    const tag = r.uint32(end);
    if (tag === FIRST) raw = r.slice(end);
    else r.skip(tag, end);
  }
  return raw;
}
