/**
 * Reads the header blocks of one connection (RFC 7541). Blocks change the dynamic table, so all of them
 * have to be read, in order, also those of streams that are over.
 *
 * Limits: a dynamic table of TABLE_BYTES_MAX, HEADER_LIST_BYTES_MAX for the fields of one block.
 * Everything invalid throws Http2Error; the connection is of no use then.
 */
import { type HeaderField, STATIC_TABLE } from "./hpack-static-table.ts";
import { Http2Error } from "./http2-error.ts";
import { decodeHuffman } from "./huffman.ts";

/** HTTP/2's default. */
const TABLE_BYTES_MAX = 4_096;
export const HEADER_LIST_BYTES_MAX = 64 * 1024;
/** What the protocol adds to the bytes of each field. */
const FIELD_BYTES = 32;
const INTEGER_MAX = 2 ** 28;

export class HpackDecoder {
  /** The newest first. */
  readonly #table: HeaderField[] = [];
  #tableBytes = 0;
  #tableBytesMax = TABLE_BYTES_MAX;

  decode(block: Uint8Array): HeaderField[] {
    const reader = new BlockReader(block);
    const fields: HeaderField[] = [];
    let listBytes = 0;
    while (!reader.atEnd) {
      const first = reader.peek();
      if ((first & 0xe0) === 0x20) {
        if (fields.length > 0) throw invalid("a table size update stands after a field");
        this.#resize(reader.integer(5));
        continue;
      }
      const field = this.#field(reader, first);
      listBytes += sizeOf(field);
      if (listBytes > HEADER_LIST_BYTES_MAX) {
        throw new Http2Error("ENHANCE_YOUR_CALM", "the headers are too long");
      }
      fields.push(field);
    }
    return fields;
  }

  #field(reader: BlockReader, first: number): HeaderField {
    if (first >= 0x80) return this.#indexed(reader.integer(7));
    const isKept = first >= 0x40;
    const nameIndex = reader.integer(isKept ? 6 : 4);
    const name = nameIndex === 0 ? reader.text() : this.#indexed(nameIndex)[0];
    const field: HeaderField = [name, reader.text()];
    if (isKept) this.#add(field);
    return field;
  }

  #indexed(index: number): HeaderField {
    const field = STATIC_TABLE[index - 1] ?? this.#table[index - 1 - STATIC_TABLE.length];
    if (field === undefined) throw invalid(`there is no field ${index}`);
    return field;
  }

  #add(field: HeaderField): void {
    this.#table.unshift(field);
    this.#tableBytes += sizeOf(field);
    this.#evict();
  }

  #resize(bytesMax: number): void {
    if (bytesMax > TABLE_BYTES_MAX) throw invalid(`a table of ${bytesMax} bytes was not offered`);
    this.#tableBytesMax = bytesMax;
    this.#evict();
  }

  #evict(): void {
    while (this.#tableBytes > this.#tableBytesMax) this.#tableBytes -= sizeOf(this.#table.pop()!);
  }
}

class BlockReader {
  readonly #block: Uint8Array;
  #offset = 0;

  constructor(block: Uint8Array) {
    this.#block = block;
  }

  get atEnd(): boolean {
    return this.#offset === this.#block.length;
  }

  peek(): number {
    const byte = this.#block[this.#offset];
    if (byte === undefined) throw invalid("it is cut short");
    return byte;
  }

  integer(bits: number): number {
    const max = 2 ** bits - 1;
    let value = this.#byte() & max;
    if (value < max) return value;
    for (let factor = 1; ; factor *= 128) {
      const byte = this.#byte();
      value += (byte & 0x7f) * factor;
      if (value > INTEGER_MAX) throw invalid("a number is too large");
      if (byte < 128) return value;
    }
  }

  text(): string {
    const isHuffman = this.peek() >= 0x80;
    const length = this.integer(7);
    const end = this.#offset + length;
    if (end > this.#block.length) throw invalid("it is cut short");
    const bytes = this.#block.subarray(this.#offset, end);
    this.#offset = end;
    return isHuffman ? decodeHuffman(bytes) : Buffer.from(bytes).toString("latin1");
  }

  #byte(): number {
    const byte = this.peek();
    this.#offset += 1;
    return byte;
  }
}

function sizeOf([name, value]: HeaderField): number {
  return name.length + value.length + FIELD_BYTES;
}

function invalid(why: string): Http2Error {
  return new Http2Error("COMPRESSION_ERROR", `a header block is invalid: ${why}`);
}
