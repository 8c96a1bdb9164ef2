/**
 * A list as bytes, read piece by piece into memory that the reader brings along: a client that reads
 * slowly, or a list that is very long, never needs the whole of it, and sending one makes no garbage.
 * Items are copied, not encoded again.
 */
import { encodeProtobuf, readEnvelope } from "#api/codec/protobuf.ts";
import type { ObjectList } from "./answer.ts";
import { listMeta } from "./list-meta.ts";
import { messageOf, wrapMessage } from "./protobuf-messages.ts";
import { protobufSchemaOf } from "./protobuf-schema.ts";

export interface ListText {
  /** In bytes. */
  readonly length: number;
  /** From the beginning. */
  reader(): ListReader;
  whole(): Buffer;
}

export interface ListReader {
  /** Fills the target as far as there is text; tells how many bytes that were, 0 at the end. */
  read(target: Buffer): number;
}

const OPEN = whole(Buffer.from("{"));
const SEPARATOR = whole(Buffer.from(",{"));
const END = whole(Buffer.from("]}\n"));

export function jsonText(list: ObjectList): ListText {
  const { names, apiVersion } = list.kind;
  const { items } = list;
  const empty = { kind: names.list, apiVersion, metadata: listMeta(list), items: [] };
  const head = Buffer.from(JSON.stringify(empty).slice(0, -2));
  const separators = items.length === 0 ? 0 : items.length * SEPARATOR.bytes.length - 1;
  let length = head.length + separators + END.bytes.length;
  for (const item of items) length += item.jsonBytes - item.itemStart;
  return textOf(length, function* () {
    yield whole(head);
    let before = OPEN;
    for (const item of items) {
      yield before;
      before = SEPARATOR;
      yield { bytes: item.line, start: item.itemStart, end: item.jsonBytes };
    }
    yield END;
  });
}

const ITEM_TAG = 0x12;

export function protobufText(list: ObjectList): ListText {
  const { names, apiVersion } = list.kind;
  const empty = { kind: names.list, apiVersion, metadata: listMeta(list), items: [] };
  const envelope = readEnvelope(encodeProtobuf(protobufSchemaOf(empty), empty));
  if (!envelope.ok) throw new Error(envelope.error);
  const messages = list.items.map(messageOf);
  let inside = envelope.message.length;
  for (const { length } of messages) inside += 1 + varintLength(length) + length;
  const { before, after } = wrapMessage(empty.kind, apiVersion, inside);
  return textOf(before.length + inside + after.length, function* () {
    yield whole(before);
    yield whole(envelope.message);
    for (const message of messages) {
      yield whole(itemHead(message.length));
      yield whole(message);
    }
    yield whole(after);
  });
}

/** A stretch of bytes. */
interface Part {
  readonly bytes: Buffer;
  readonly start: number;
  readonly end: number;
}

function whole({ buffer, byteOffset, byteLength }: Uint8Array): Part {
  return { bytes: Buffer.from(buffer, byteOffset, byteLength), start: 0, end: byteLength };
}

function textOf(length: number, parts: () => Iterator<Part, void>): ListText {
  const reader = (): ListReader => new PartReader(parts());
  return {
    length,
    reader,
    whole: () => {
      const target = Buffer.allocUnsafe(length);
      reader().read(target);
      return target;
    },
  };
}

class PartReader implements ListReader {
  readonly #parts: Iterator<Part, void>;
  #bytes: Buffer = Buffer.alloc(0);
  #at = 0;
  #end = 0;

  constructor(parts: Iterator<Part, void>) {
    this.#parts = parts;
  }

  read(target: Buffer): number {
    let used = 0;
    while (used < target.length) {
      if (this.#at === this.#end) {
        const { done, value } = this.#parts.next();
        if (done) break;
        this.#bytes = value.bytes;
        this.#at = value.start;
        this.#end = value.end;
      }
      const count = this.#bytes.copy(target, used, this.#at, this.#end);
      this.#at += count;
      used += count;
    }
    return used;
  }
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
