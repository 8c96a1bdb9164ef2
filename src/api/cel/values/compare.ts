/** Equality and order of values. Numbers compare by value, whatever their type. */
import {
  CelError,
  CelList,
  CelMap,
  CelObject,
  Duration,
  Optional,
  Timestamp,
  TypeValue,
  Uint,
  type Value,
} from "./value.ts";

export function isEqual(a: Value, b: Value): boolean {
  if (a === b) return true;
  const left = numeric(a);
  if (left !== undefined) {
    const right = numeric(b);
    return right !== undefined && compareNumbers(left, right) === 0;
  }
  if (a instanceof CelList) return b instanceof CelList && equalLists(a, b);
  if (a instanceof CelMap) return b instanceof CelMap && equalMaps(a, b);
  if (a instanceof Uint8Array) return b instanceof Uint8Array && compareBytes(a, b) === 0;
  if (a instanceof Timestamp) return b instanceof Timestamp && a.nanos === b.nanos;
  if (a instanceof Duration) return b instanceof Duration && a.nanos === b.nanos;
  if (a instanceof TypeValue) return b instanceof TypeValue && a.type.name === b.type.name;
  if (a instanceof Optional) return b instanceof Optional && equalOptionals(a, b);
  if (a instanceof CelObject) {
    return b instanceof CelObject && a.type.name === b.type.name && a.equals(b);
  }
  return false;
}

/** Undefined for values without an order between them, as NaN has. */
export function compare(a: Value, b: Value): number | undefined {
  const left = numeric(a);
  const right = numeric(b);
  if (left !== undefined && right !== undefined) return compareNumbers(left, right);
  if (typeof a === "string" && typeof b === "string") return compareStrings(a, b);
  if (typeof a === "boolean" && typeof b === "boolean") return Number(a) - Number(b);
  if (a instanceof Uint8Array && b instanceof Uint8Array) return compareBytes(a, b);
  if (a instanceof Timestamp && b instanceof Timestamp) return sign(a.nanos - b.nanos);
  if (a instanceof Duration && b instanceof Duration) return sign(a.nanos - b.nanos);
  throw new CelError("no such overload");
}

/** By code points, as the bytes of UTF-8 sort. */
function compareStrings(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    const x = a.charCodeAt(i);
    const y = b.charCodeAt(i);
    if (x === y) continue;
    const wideX = x >= 0xd800 && x < 0xe000;
    const wideY = y >= 0xd800 && y < 0xe000;
    if (wideX !== wideY) return wideX ? 1 : -1;
    return x < y ? -1 : 1;
  }
  return Math.sign(a.length - b.length);
}

function numeric(value: Value): bigint | number | undefined {
  if (typeof value === "bigint" || typeof value === "number") return value;
  return value instanceof Uint ? value.value : undefined;
}

/** Ints become doubles where they meet one, with what that loses. */
function compareNumbers(a: bigint | number, b: bigint | number): number | undefined {
  if (typeof a === "bigint" && typeof b === "bigint") return sign(a - b);
  const [x, y] = [Number(a), Number(b)];
  if (x === y) return 0;
  if (x < y) return -1;
  return x > y ? 1 : undefined;
}

function sign(value: bigint): number {
  if (value === 0n) return 0;
  return value < 0n ? -1 : 1;
}

function compareBytes(a: Uint8Array, b: Uint8Array): number {
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) if (a[i] !== b[i]) return a[i]! < b[i]! ? -1 : 1;
  return Math.sign(a.length - b.length);
}

function equalLists(a: CelList, b: CelList): boolean {
  if (a.size !== b.size) return false;
  for (let i = 0; i < a.size; i++) if (!isEqual(a.at(i), b.at(i))) return false;
  return true;
}

function equalMaps(a: CelMap, b: CelMap): boolean {
  if (a.size !== b.size) return false;
  for (const key of a.keys()) {
    const other = b.find(key);
    if (other === undefined || !isEqual(a.find(key)!, other)) return false;
  }
  return true;
}

function equalOptionals(a: Optional, b: Optional): boolean {
  if (a.value === undefined || b.value === undefined) return a.value === b.value;
  return isEqual(a.value, b.value);
}
