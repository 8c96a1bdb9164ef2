/**
 * Protobuf messages described by a table: which field has which number and type. Absent fields read
 * as their type's zero, zeros are not written, unknown fields are skipped: as proto3 has it.
 *
 * `defineMessage<T>` checks a table against an interface that exists; `message` derives the types
 * from the table (`ReadOf` has every field, `WriteOf` has every field optional).
 */
import {
  generateRead,
  generateWrite,
  type ReadMessage,
  type WriteMessage,
} from "./message-code.ts";
import { WireReader, WireWriter } from "./wire.ts";

export interface Codec<Message> extends MessageFunctions {
  encode(message: Partial<Message>): Buffer;
  decode(bytes: Uint8Array): Message;
}

/** A codec whose types come from its table. */
export interface MessageType<Read, Write> extends MessageFunctions {
  encode(message: Write): Buffer;
  decode(bytes: Uint8Array): Read;
}

/**
 * - int:   an integer that is known to stay within 2^53, such as a revision
 * - int64: an integer that may be anything, such as a time in nanoseconds
 * - fixed64: the same in eight bytes, not negative
 */
type Scalar = "int" | "int64" | "fixed64" | "bool" | "bytes" | "text" | "double";

export type FieldType =
  | Scalar
  | { readonly one: MessageFunctions }
  | { readonly many: MessageFunctions }
  | { readonly list: "int" | "text" }
  /** map<string, string>. */
  | { readonly map: "text" };

/** What a message in another message needs. */
export interface MessageFunctions {
  write: WriteMessage;
  read: ReadMessage;
}

export type FieldTable<Message> = {
  readonly [Name in keyof Message]-?: readonly [number: number, type: FieldType];
};

interface ScalarValues {
  readonly int: number;
  readonly int64: bigint;
  readonly fixed64: bigint;
  readonly bool: boolean;
  readonly bytes: Uint8Array;
  readonly text: string;
  readonly double: number;
}

type Read<T> = T extends keyof ScalarValues
  ? ScalarValues[T]
  : T extends { one: MessageType<infer R, never> }
    ? R | undefined
    : T extends { many: MessageType<infer R, never> }
      ? readonly R[]
      : T extends { list: infer S extends keyof ScalarValues }
        ? readonly ScalarValues[S][]
        : Readonly<Record<string, string>>;

type Write<T> = T extends keyof ScalarValues
  ? ScalarValues[T]
  : T extends { one: { encode(message: infer W): Buffer } }
    ? W
    : T extends { many: { encode(message: infer W): Buffer } }
      ? readonly W[]
      : T extends { list: infer S extends keyof ScalarValues }
        ? readonly ScalarValues[S][]
        : Readonly<Record<string, string>>;

export type Table = Readonly<Record<string, readonly [number: number, type: FieldType]>>;

type ReadTable<T extends Table> = { readonly [Name in keyof T]: Read<T[Name][1]> };
type WriteTable<T extends Table> = { readonly [Name in keyof T]?: Write<T[Name][1]> | undefined };

export type ReadOf<M> = M extends { decode(bytes: Uint8Array): infer R } ? R : never;
export type WriteOf<M> = M extends { encode(message: infer W): Buffer } ? W : never;

export function defineMessage<Message extends object>(table: FieldTable<Message>): Codec<Message> {
  return codecOf<Message, Partial<Message>>(table);
}

export function message<const T extends Table>(table: T): MessageType<ReadTable<T>, WriteTable<T>> {
  return codecOf<ReadTable<T>, WriteTable<T>>(table);
}

/** What is read has the fields of the table, which are those of `Read`. */
function codecOf<Read extends object, Write extends object>(
  table: Table,
): MessageType<Read, Write> {
  const codec: MessageType<Read, Write> = {
    // Generated at first use: most messages of most processes are never used.
    write(writer, message) {
      codec.write = generateWrite(table);
      codec.write(writer, message);
    },
    read(reader, end) {
      codec.read = generateRead(table);
      return codec.read(reader, end);
    },
    encode(message) {
      writer.clear(); // an encoder may have thrown
      codec.write(writer, message);
      return writer.finish();
    },
    decode(bytes) {
      const reader = new WireReader(bytes);
      return codec.read(reader, reader.length) as Read;
    },
  };
  return codec;
}

/** Scratch memory: nothing stays in it between two messages, and encoding never waits for anything. */
const writer = new WireWriter();
