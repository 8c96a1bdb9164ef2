/**
 * Protobuf messages from JSON by tables of fields, as the OpenAPI documents need them. Vendor
 * extensions and free values are carried as YAML text; JSON is YAML.
 */
export type Json = Readonly<Record<string, unknown>>;
export type Members<T> = Readonly<Record<string, T>>;
export type Encoder<T> = (value: T) => Uint8Array;

/** Fields of a message: name in JSON → number and how its value is written. */
export type Fields = Readonly<Record<string, readonly [number: number, write: Write<never>]>>;
/** The whole field (or all of them, for a list), tags included. */
export type Write<T> = (number: number, value: T) => readonly Uint8Array[];

const utf8 = new TextEncoder();

export const text: Write<string> = (number, value) => [bytesField(number, utf8.encode(value))];
export const texts: Write<readonly string[]> = (number, values) =>
  values.flatMap((v) => text(number, v));
export const bool: Write<boolean> = (number, value) => [tag(number, 0), varint(value ? 1 : 0)];
export const integer: Write<number> = (number, value) => [tag(number, 0), varint(value)];
export const double: Write<number> = (number, value) => [tag(number, 1), float64(value)];
export const any: Write<unknown> = (number, value) => [bytesField(number, anyValue(value))];
export const anys: Write<readonly unknown[]> = (number, values) =>
  values.map((v) => bytesField(number, anyValue(v)));
export const one =
  <T>(encode: Encoder<T>): Write<T> =>
  (number, value) => [bytesField(number, encode(value))];
export const many =
  <T>(encode: Encoder<T>): Write<readonly T[]> =>
  (number, values) =>
    values.map((value) => bytesField(number, encode(value)));
/** A JSON object whose members become repeated pairs of name and value, in a message of their own. */
export const named =
  <T>(inner: number, encode: Encoder<T>): Write<Members<T>> =>
  (number, values) => [bytesField(number, pairs(inner, values, encode))];

export function message(value: Json, fields: Fields, extensions: number): Uint8Array {
  const parts: Uint8Array[] = [];
  for (const [name, member] of Object.entries(value)) {
    const field = fields[name];
    // The document is of our own making: a member is of the type that its name has in the table.
    if (field !== undefined) parts.push(...field[1](field[0], member as never));
    else if (name.startsWith("x-"))
      parts.push(bytesField(extensions, pair(name, anyValue(member))));
  }
  return join(parts);
}

export function pairs<T>(number: number, values: Members<T>, encode: Encoder<T>): Uint8Array {
  return join(
    Object.entries(values).map(([name, value]) => bytesField(number, pair(name, encode(value)))),
  );
}

function pair(name: string, value: Uint8Array): Uint8Array {
  return join([...text(1, name), bytesField(2, value)]);
}

function anyValue(value: unknown): Uint8Array {
  return join(text(2, `${JSON.stringify(value)}\n`));
}

export function bytesField(number: number, bytes: Uint8Array): Uint8Array {
  return join([tag(number, 2), varint(bytes.length), bytes]);
}

function tag(number: number, wireType: number): Uint8Array {
  return varint(number * 8 + wireType);
}

function varint(value: number): Uint8Array {
  const bytes: number[] = [];
  let rest = value;
  for (; rest > 0x7f; rest = Math.floor(rest / 128)) bytes.push((rest % 128) + 128);
  bytes.push(rest);
  return Uint8Array.from(bytes);
}

function float64(value: number): Uint8Array {
  const bytes = new Uint8Array(8);
  new DataView(bytes.buffer).setFloat64(0, value, true);
  return bytes;
}

export function join(parts: readonly Uint8Array[]): Uint8Array {
  const bytes = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}
