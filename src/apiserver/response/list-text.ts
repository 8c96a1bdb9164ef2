/**
 * A list as bytes, read in chunks into buffers of the reader: a slow client or a very long list never
 * needs the whole of it in memory, and sending it makes no garbage. Items are copied, not encoded
 * again.
 *
 * `known`: the items of lists that were asked for before.
 */
import { encodeProtobuf, readEnvelope } from "#api/codec/protobuf.ts";
import type { Revision } from "../storage/revision.ts";
import type { ObjectList } from "./answer.ts";
import { joined, lengthOf, type Part, PartReader, whole } from "./byte-parts.ts";
import { JoinedItems } from "./list-bytes-cache.ts";
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
  /** Fills the target; returns the number of bytes, 0 at the end. */
  read(target: Buffer): number;
}

const OPEN = whole(Buffer.from("{"));
const SEPARATOR = whole(Buffer.from(",{"));
const END = whole(Buffer.from("]}\n"));

export function jsonText(list: ObjectList, known = new JoinedItems()): ListText {
  const head = Buffer.from(JSON.stringify(emptyList(list)).slice(0, -2));
  const items = known.of(`json ${placeOf(list)}`, list.state, () => jsonItems(list));
  return textOf([whole(head), ...items, END]);
}

/** Items of a built-in kind do not repeat kind and apiVersion; those of a custom resource do. */
function jsonItems({ items, kind }: ObjectList): readonly Part[] {
  const parts: Part[] = [];
  let before = OPEN;
  for (const item of items) {
    const start = kind.custom === undefined ? item.itemStart : 1;
    parts.push(
      before,
      item.hasText
        ? { bytes: item.line, start, end: item.jsonBytes }
        : new DroppedText(item, start),
    );
    before = SEPARATOR;
  }
  return parts;
}

/** The text of an item that is made when it is read, not for all items of a long list at once. */
class DroppedText implements Part {
  readonly #item: Revision;
  readonly start: number;
  readonly end: number;

  constructor(item: Revision, start: number) {
    this.#item = item;
    this.start = start;
    this.end = item.jsonBytes;
  }

  get bytes(): Buffer {
    return this.#item.line;
  }
}

export function protobufText(list: ObjectList, known = new JoinedItems()): ListText {
  const empty = emptyList(list);
  const envelope = readEnvelope(encodeProtobuf(protobufSchemaOf(empty), empty));
  if (!envelope.ok) throw new Error(envelope.error);
  const items = known.of(`protobuf ${placeOf(list)}`, list.state, () => protobufItems(list));
  const inside = envelope.message.length + lengthOf(items);
  const { before, after } = wrapMessage(empty.kind, empty.apiVersion, inside);
  return textOf([whole(before), whole(envelope.message), ...items, whole(after)]);
}

const ITEM_TAG = 0x12;

function protobufItems({ items }: ObjectList): readonly Part[] {
  const parts: Part[] = [];
  for (const item of items) {
    const message = messageOf(item);
    parts.push(whole(itemHead(message.length)), whole(message));
  }
  return parts;
}

function emptyList(list: ObjectList) {
  const { names, apiVersion } = list.kind;
  const metadata = listMeta(list);
  if (list.kind.custom !== undefined) metadata.continue ??= "";
  return { kind: names.list, apiVersion, metadata, items: [] };
}

function placeOf({ kind, place }: ObjectList): string {
  return `${kind.apiVersion} ${place}`;
}

function textOf(parts: readonly Part[]): ListText {
  return {
    length: lengthOf(parts),
    reader: () => new PartReader(parts),
    whole: () => joined(parts),
  };
}

function itemHead(length: number): Buffer {
  const bytes = [ITEM_TAG];
  let rest = length;
  for (; rest > 127; rest = Math.floor(rest / 128)) bytes.push((rest % 128) | 128);
  return Buffer.from([...bytes, rest]);
}
