/**
 * Messages described by a table: which field has which number and type. Absent fields read as their
 * type's zero, zeros are not written, unknown fields are skipped: as proto3 has it.
 */
import { textOf, WireWriter, wireFields } from "./wire.ts";

export interface Codec<Message> {
  encode(message: Partial<Message>): Buffer;
  decode(bytes: Uint8Array): Message;
}

/**
 * - int: an int64 that is known to stay below 2^53, such as a revision
 * - id:  an int64 that may be anything, such as a lease
 */
export type FieldType =
  | "int"
  | "id"
  | "bool"
  | "bytes"
  | "text"
  | { readonly one: AnyCodec }
  | { readonly many: AnyCodec };

/** A codec whose message type does not matter. */
interface AnyCodec {
  encode(message: object): Buffer;
  decode(bytes: Uint8Array): object;
}

export type FieldTable<Message> = {
  readonly [Name in keyof Message]-?: readonly [number: number, type: FieldType];
};

export function defineMessage<Message extends object>(table: FieldTable<Message>): Codec<Message> {
  const fields = Object.entries(table) as [keyof Message & string, readonly [number, FieldType]][];
  const byNumber = new Map(fields.map(([name, [number, type]]) => [number, { name, type }]));

  return {
    encode(message) {
      const writer = new WireWriter();
      for (const [name, [number, type]] of fields) writeField(writer, number, type, message[name]);
      return writer.finish();
    },
    decode(bytes) {
      const message: Record<string, unknown> = {};
      for (const [name, [, type]] of fields) message[name] = zeroOf(type);
      for (const { number, value, bytes: part } of wireFields(bytes)) {
        const field = byNumber.get(number);
        if (field === undefined) continue;
        const { name, type } = field;
        if (typeof type === "object" && "many" in type) {
          (message[name] as unknown[]).push(type.many.decode(part));
        } else message[name] = readField(type, value, part);
      }
      return message as Message;
    },
  };
}

function writeField(writer: WireWriter, number: number, type: FieldType, value: unknown): void {
  if (value === undefined) return;
  if (typeof type === "object") {
    const codec = "one" in type ? type.one : type.many;
    const inner = "one" in type ? [value as object] : (value as object[]);
    for (const item of inner) writer.bytes(number, codec.encode(item));
  } else if (type === "bytes") {
    if ((value as Uint8Array).length > 0) writer.bytes(number, value as Uint8Array);
  } else if (type === "text") {
    if (value !== "") writer.text(number, value as string);
  } else if (BigInt(value as number | bigint | boolean) !== 0n) {
    writer.varint(number, BigInt(value as number | bigint | boolean));
  }
}

function readField(
  type: Exclude<FieldType, { many: unknown }>,
  value: bigint,
  bytes: Uint8Array,
): unknown {
  if (typeof type === "object") return type.one.decode(bytes);
  if (type === "int") return toSafeInteger(value);
  if (type === "id") return BigInt.asIntN(64, value);
  if (type === "bool") return value !== 0n;
  return type === "bytes" ? bytes : textOf(bytes);
}

function toSafeInteger(value: bigint): number {
  const number = Number(BigInt.asIntN(64, value));
  if (!Number.isSafeInteger(number)) throw new RangeError(`${value} is beyond 2^53`);
  return number;
}

const NOTHING = new Uint8Array();

function zeroOf(type: FieldType): unknown {
  if (typeof type === "object") return "one" in type ? undefined : [];
  if (type === "int") return 0;
  if (type === "id") return 0n;
  if (type === "bool") return false;
  return type === "bytes" ? NOTHING : "";
}
