/** Messages that are plain values in JSON: times, quantities, numbers-or-texts, free JSON, bytes. */
import { formatDuration, parseDuration } from "#api/meta/duration.ts";
import {
  formatMicroTime,
  formatTime,
  isZeroTime,
  parseMicroTime,
  parseTime,
} from "#api/meta/time.ts";
import { bytesOf, bytesToBase64 } from "./base64.ts";
import { encodeJson, parseJson } from "./json.ts";
import { ProtobufError, type ProtoReader } from "./proto-reader.ts";
import type { ProtoWriter } from "./proto-writer.ts";

/** Tags: number and wire type of a field. */
const FIRST_VARINT = 0x08;
const FIRST_BYTES = 0x0a;
const SECOND_VARINT = 0x10;
const THIRD_BYTES = 0x1a;

export function readTime(r: ProtoReader, end: number): string | null {
  return readInstant(r, end, formatTime);
}

export function readMicroTime(r: ProtoReader, end: number): string | null {
  return readInstant(r, end, formatMicroTime);
}

type Format = (instant: { seconds: number; nanos: number }) => string;

/** An empty message is the time that is not set. */
function readInstant(r: ProtoReader, end: number, format: Format): string | null {
  const stop = r.end(end);
  if (r.at === stop) return null;
  let seconds = 0;
  let nanos = 0;
  while (r.at < stop) {
    const tag = r.uint32(stop);
    if (tag === FIRST_VARINT) seconds = Number(r.int64(stop));
    else if (tag === SECOND_VARINT) nanos = r.int32(stop);
    else r.skip(tag, stop);
  }
  const instant = { seconds, nanos };
  return isZeroTime(instant) ? null : format(instant);
}

export function writeTime(w: ProtoWriter, text: string | null | undefined): void {
  if (typeof text !== "string") return;
  const parsed =
    text.length === "2006-01-02T15:04:05Z".length ? parseTime(text) : parseMicroTime(text);
  if (!parsed.ok) throw new ProtobufError(parsed.error);
  const { seconds, nanos } = parsed.value;
  w.varint(nanos);
  w.byte(SECOND_VARINT);
  w.varint(seconds);
  w.byte(FIRST_VARINT);
}

export function readDuration(r: ProtoReader, end: number): string {
  const stop = r.end(end);
  let nanos = 0n;
  while (r.at < stop) {
    const tag = r.uint32(stop);
    if (tag === FIRST_VARINT) nanos = BigInt(r.int64(stop));
    else r.skip(tag, stop);
  }
  return formatDuration(nanos);
}

export function writeDuration(w: ProtoWriter, text: string | undefined): void {
  const parsed = parseDuration(text ?? "0s");
  if (!parsed.ok) throw new ProtobufError(parsed.error);
  w.varint(parsed.nanos);
  w.byte(FIRST_VARINT);
}

export function readQuantity(r: ProtoReader, end: number): string {
  const stop = r.end(end);
  let text = "0";
  while (r.at < stop) {
    const tag = r.uint32(stop);
    if (tag === FIRST_BYTES) text = r.string(stop);
    else r.skip(tag, stop);
  }
  return text;
}

export function writeQuantity(w: ProtoWriter, text: string | undefined): void {
  writeText(w, text ?? "0");
  w.byte(FIRST_BYTES);
}

export function readIntOrString(r: ProtoReader, end: number): number | string {
  const stop = r.end(end);
  let isText = false;
  let number = 0;
  let text = "";
  while (r.at < stop) {
    const tag = r.uint32(stop);
    if (tag === FIRST_VARINT) isText = r.int64(stop) === 1;
    else if (tag === SECOND_VARINT) number = r.int32(stop);
    else if (tag === THIRD_BYTES) text = r.string(stop);
    else r.skip(tag, stop);
  }
  return isText ? text : number;
}

export function writeIntOrString(w: ProtoWriter, value: number | string | undefined): void {
  const isText = typeof value === "string";
  writeText(w, isText ? value : "");
  w.byte(THIRD_BYTES);
  w.varint(isText ? 0 : (value ?? 0));
  w.byte(SECOND_VARINT);
  w.varint(isText);
  w.byte(FIRST_VARINT);
}

/** Free JSON travels as its text in the first field of a message. */
export function readJson(r: ProtoReader, end: number): unknown {
  const stop = r.end(end);
  let raw: Uint8Array | undefined;
  while (r.at < stop) {
    const tag = r.uint32(stop);
    if (tag === FIRST_BYTES) raw = r.slice(stop);
    else r.skip(tag, stop);
  }
  if (raw === undefined || raw.length === 0) return null;
  const parsed = parseJson(raw);
  if (!parsed.ok) throw new ProtobufError(parsed.error);
  return parsed.value;
}

export function writeJson(w: ProtoWriter, value: unknown): void {
  if (value === undefined || value === null) return;
  writeText(w, encodeJson(value));
  w.byte(FIRST_BYTES);
}

export function readBytes(r: ProtoReader, end: number): string {
  return bytesToBase64(r.slice(end));
}

export function writeBytes(w: ProtoWriter, base64: string): void {
  const bytes = bytesOf(base64);
  w.raw(bytes);
  w.uint32(bytes.length);
}

/** Lists in a message of their own are all lists of texts. */
export function readTexts(r: ProtoReader, end: number): string[] {
  const stop = r.end(end);
  const texts: string[] = [];
  while (r.at < stop) {
    const tag = r.uint32(stop);
    if (tag === FIRST_BYTES) texts.push(r.string(stop));
    else r.skip(tag, stop);
  }
  return texts;
}

export function writeTexts(w: ProtoWriter, texts: readonly string[]): void {
  for (let i = texts.length - 1; i >= 0; i--) {
    writeText(w, texts[i]!);
    w.byte(FIRST_BYTES);
  }
}

/** A text with its length before it. */
export function writeText(w: ProtoWriter, text: string): void {
  const mark = w.size;
  w.text(text);
  w.uint32(w.size - mark);
}
