/**
 * A list as bytes, in pieces that are made one after the other: a client that reads slowly, or a list
 * that is very long, never needs the whole of it in memory. Items are copied, not encoded again.
 */
import { encodeProtobuf, readEnvelope } from "#api/codec/protobuf.ts";
import type { ObjectList } from "./answer.ts";
import { listMeta } from "./list-meta.ts";
import { messageOf, wrapMessage } from "./protobuf-messages.ts";
import { protobufSchemaOf } from "./protobuf-schema.ts";

const PIECE_BYTES = 256 * 1024;

export interface Pieces extends Iterable<Buffer> {
  /** Of all pieces together. */
  readonly length: number;
}

const OPEN = Buffer.from("{");
const SEPARATOR = Buffer.from(",{");
const END = Buffer.from("]}\n");

export function jsonPieces(list: ObjectList): Pieces {
  const { names, apiVersion } = list.kind;
  const empty = { kind: names.list, apiVersion, metadata: listMeta(list), items: [] };
  const head = Buffer.from(JSON.stringify(empty).slice(0, -2));
  let length = head.length + END.length;
  for (const [i, item] of list.items.entries()) {
    length += (i === 0 ? OPEN : SEPARATOR).length + item.json.length - item.itemStart;
  }
  const parts = function* (): Iterable<Uint8Array> {
    yield head;
    let first = true;
    for (const item of list.items) {
      yield first ? OPEN : SEPARATOR;
      first = false;
      yield item.json.subarray(item.itemStart);
    }
    yield END;
  };
  return { length, [Symbol.iterator]: () => joined(parts()) };
}

const ITEM_TAG = 0x12;

export function protobufPieces(list: ObjectList): Pieces {
  const { names, apiVersion } = list.kind;
  const empty = { kind: names.list, apiVersion, metadata: listMeta(list), items: [] };
  const envelope = readEnvelope(encodeProtobuf(protobufSchemaOf(empty), empty));
  if (!envelope.ok) throw new Error(envelope.error);
  const messages = list.items.map(messageOf);
  let inside = envelope.message.length;
  for (const { length } of messages) inside += 1 + varintLength(length) + length;
  const { before, after } = wrapMessage(empty.kind, apiVersion, inside);
  const parts = function* (): Iterable<Uint8Array> {
    yield before;
    yield envelope.message;
    for (const message of messages) {
      yield itemHead(message.length);
      yield message;
    }
    yield after;
  };
  const length = before.length + inside + after.length;
  return { length, [Symbol.iterator]: () => joined(parts()) };
}

function* joined(parts: Iterable<Uint8Array>): Generator<Buffer> {
  let piece = Buffer.allocUnsafe(PIECE_BYTES);
  let used = 0;
  for (const part of parts) {
    let at = 0;
    while (at < part.length) {
      const count = Math.min(part.length - at, PIECE_BYTES - used);
      piece.set(part.subarray(at, at + count), used);
      at += count;
      used += count;
      if (used < PIECE_BYTES) continue;
      yield piece;
      piece = Buffer.allocUnsafe(PIECE_BYTES);
      used = 0;
    }
  }
  if (used > 0) yield piece.subarray(0, used);
}

function varintLength(value: number): number {
  let length = 1;
  for (let rest = value; rest > 127; rest = Math.floor(rest / 128)) length += 1;
  return length;
}

function itemHead(length: number): Buffer {
  const bytes = [ITEM_TAG];
  let rest = length;
  for (; rest > 127; rest = Math.floor(rest / 128)) bytes.push((rest % 128) | 128);
  return Buffer.from([...bytes, rest]);
}
