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
  const empty = { kind: names.list, apiVersion, metadata: listMeta(list), items: [] };
  const parts = [whole(Buffer.from(JSON.stringify(empty).slice(0, -2)))];
  let before = OPEN;
  for (const item of list.items) {
    parts.push(before, { bytes: item.line, start: item.itemStart, end: item.jsonBytes });
    before = SEPARATOR;
  }
  parts.push(END);
  return textOf(parts);
}

const ITEM_TAG = 0x12;

export function protobufText(list: ObjectList): ListText {
  const { names, apiVersion } = list.kind;
  const empty = { kind: names.list, apiVersion, metadata: listMeta(list), items: [] };
  const envelope = readEnvelope(encodeProtobuf(protobufSchemaOf(empty), empty));
  if (!envelope.ok) throw new Error(envelope.error);
  const inside = [whole(envelope.message)];
  for (const item of list.items) {
    const message = messageOf(item);
    inside.push(whole(itemHead(message.length)), whole(message));
  }
  const { before, after } = wrapMessage(empty.kind, apiVersion, lengthOf(inside));
  return textOf([whole(before), ...inside, whole(after)]);
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

function lengthOf(parts: readonly Part[]): number {
  let length = 0;
  for (const { start, end } of parts) length += end - start;
  return length;
}

function textOf(parts: readonly Part[]): ListText {
  const length = lengthOf(parts);
  const reader = (): ListReader => new PartReader(parts);
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

/** Up to here bytes are copied one by one: the call that copies many costs more. */
const FEW_BYTES = 8;

class PartReader implements ListReader {
  readonly #parts: readonly Part[];
  #index = 0;
  /** How much of the part at hand has been read. */
  #done = 0;

  constructor(parts: readonly Part[]) {
    this.#parts = parts;
  }

  read(target: Buffer): number {
    let used = 0;
    while (used < target.length && this.#index < this.#parts.length) {
      const { bytes, start, end } = this.#parts[this.#index]!;
      const from = start + this.#done;
      const count = Math.min(end - from, target.length - used);
      if (count > FEW_BYTES) bytes.copy(target, used, from, from + count);
      else for (let n = 0; n < count; n++) target[used + n] = bytes[from + n]!;
      used += count;
      this.#done += count;
      if (from + count < end) break;
      this.#index += 1;
      this.#done = 0;
    }
    return used;
  }
}

function itemHead(length: number): Buffer {
  const bytes = [ITEM_TAG];
  let rest = length;
  for (; rest > 127; rest = Math.floor(rest / 128)) bytes.push((rest % 128) | 128);
  return Buffer.from([...bytes, rest]);
}
