/**
 * Protobuf messages described by a table: which field has which number and type. Absent fields read
 * as their type's zero, zeros are not written, unknown fields are skipped: as proto3 has it.
 *
 * `defineMessage<T>` checks a table against an interface that exists; `message` derives the types
 * from the table (`ReadOf` has every field, `WriteOf` has every field optional).
 */
import { doubleOf, fixed64Of, packedVarints, readFields, textOf, WireWriter } from "./wire.ts";

export interface Codec<Message> {
  encode(message: Partial<Message>): Buffer;
  decode(bytes: Uint8Array): Message;
}

/** A codec whose types come from its table. */
export interface MessageType<Read, Write> {
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
  | { readonly one: AnyCodec }
  | { readonly many: AnyCodec }
  | { readonly list: "int" | "text" }
  /** map<string, string>. */
  | { readonly map: "text" };

/** A codec whose message type does not matter. */
interface AnyCodec {
  encode(message: never): Buffer;
  decode(bytes: Uint8Array): object;
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

type Table = Readonly<Record<string, readonly [number: number, type: FieldType]>>;

type ReadTable<T extends Table> = { readonly [Name in keyof T]: Read<T[Name][1]> };
type WriteTable<T extends Table> = { readonly [Name in keyof T]?: Write<T[Name][1]> | undefined };

export type ReadOf<M> = M extends { decode(bytes: Uint8Array): infer R } ? R : never;
export type WriteOf<M> = M extends { encode(message: infer W): Buffer } ? W : never;

export function defineMessage<Message extends object>(table: FieldTable<Message>): Codec<Message> {
  return codecOf(table) as Codec<Message>;
}

export function message<const T extends Table>(table: T): MessageType<ReadTable<T>, WriteTable<T>> {
  return codecOf(table) as MessageType<ReadTable<T>, WriteTable<T>>;
}

function codecOf(table: Table): AnyCodec {
  const fields = Object.entries(table);
  const byNumber = new Map(fields.map(([name, [number, type]]) => [number, { name, type }]));
  return {
    encode(message: Readonly<Record<string, unknown>>) {
      const writer = new WireWriter();
      for (const [name, [number, type]] of fields) writeField(writer, number, type, message[name]);
      return writer.finish();
    },
    decode(bytes) {
      const message: Record<string, unknown> = {};
      for (const [name, [, type]] of fields) message[name] = zeroOf(type);
      readFields(bytes, ({ number, value, bytes: part }) => {
        const field = byNumber.get(number);
        if (field === undefined) return;
        const { name, type } = field;
        if (typeof type === "object" && !("one" in type)) addTo(message[name], type, value, part);
        else message[name] = readField(type, value, part);
      });
      return message;
    },
  };
}

function writeField(writer: WireWriter, number: number, type: FieldType, value: unknown): void {
  if (value === undefined) return;
  if (typeof type === "string") writeScalar(writer, number, type, value);
  else if ("one" in type) writer.bytes(number, type.one.encode(value as never));
  else if ("many" in type) {
    for (const item of value as never[]) writer.bytes(number, type.many.encode(item));
  } else if ("map" in type) {
    for (const [key, item] of Object.entries(value as Record<string, string>)) {
      writer.bytes(number, MAP_ENTRY.encode({ key, value: item }));
    }
  } else if (type.list === "text") {
    for (const item of value as string[]) writer.text(number, item);
  } else writer.packed(number, value as number[]);
}

function writeScalar(writer: WireWriter, number: number, type: Scalar, value: unknown): void {
  if (type === "bytes") {
    if ((value as Uint8Array).length > 0) writer.bytes(number, value as Uint8Array);
  } else if (type === "text") {
    if (value !== "") writer.text(number, value as string);
  } else if (type === "double") {
    if (value !== 0) writer.double(number, value as number);
  } else if (type === "fixed64") {
    if (value !== 0n) writer.fixed64(number, value as bigint);
  } else if (type === "bool") {
    if (value === true) writer.varint(number, 1);
  } else if (Number(value) !== 0) writer.varint(number, value as number | bigint);
}

type Collection = Exclude<FieldType, Scalar | { one: unknown }>;

function addTo(target: unknown, type: Collection, value: number | bigint, bytes: Uint8Array): void {
  if ("map" in type) {
    const entry = MAP_ENTRY.decode(bytes);
    (target as Record<string, string>)[entry.key] = entry.value;
    return;
  }
  const list = target as unknown[];
  if ("many" in type) list.push(type.many.decode(bytes));
  else if (type.list === "text") list.push(textOf(bytes));
  else if (bytes.length === 0) list.push(toSafeInteger(value));
  else for (const item of packedVarints(bytes)) list.push(toSafeInteger(item));
}

function readField(
  type: Scalar | { one: AnyCodec },
  value: number | bigint,
  bytes: Uint8Array,
): unknown {
  if (typeof type === "object") return type.one.decode(bytes);
  if (type === "int") return toSafeInteger(value);
  if (type === "int64") return BigInt.asIntN(64, BigInt(value));
  if (type === "bool") return Number(value) !== 0;
  if (type === "double") return doubleOf(bytes);
  if (type === "fixed64") return fixed64Of(bytes);
  return type === "bytes" ? bytes : textOf(bytes);
}

function toSafeInteger(value: number | bigint): number {
  if (typeof value === "number") return value;
  const number = Number(BigInt.asIntN(64, value));
  if (!Number.isSafeInteger(number)) throw new RangeError(`${value} is beyond 2^53`);
  return number;
}

const NOTHING = new Uint8Array();

function zeroOf(type: FieldType): unknown {
  if (typeof type === "object") {
    if ("one" in type) return undefined;
    // No prototype: keys come from outside.
    return "map" in type ? Object.create(null) : [];
  }
  if (type === "int" || type === "double") return 0;
  if (type === "int64" || type === "fixed64") return 0n;
  if (type === "bool") return false;
  return type === "bytes" ? NOTHING : "";
}

const MAP_ENTRY = message({ key: [1, "text"], value: [2, "text"] });
