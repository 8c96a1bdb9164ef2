/**
 * Lists and maps that a client sent, and that were empty. The normal form leaves them out like absent
 * ones, because nothing stored distinguishes the two; but a few validation rules do, and error
 * messages show the value that was sent.
 *
 * The object itself lists these fields, under a symbol that encoders and `Object.keys` do not see.
 * Copies made with spread have the list as well; parsed or structurally cloned ones do not.
 */
import { define } from "./normal-values.ts";

const EMPTY_COLLECTIONS: unique symbol = Symbol("empty collections");

interface Marked {
  readonly [EMPTY_COLLECTIONS]?: readonly string[];
}

/** Notes that the field was sent as an empty list or map. */
export function markEmptyCollection(object: object, field: string): void {
  const marked = object as { [EMPTY_COLLECTIONS]?: readonly string[] };
  const fields = marked[EMPTY_COLLECTIONS];
  // Never changed in place: copies share the list.
  marked[EMPTY_COLLECTIONS] = fields === undefined ? [field] : [...fields, field];
}

/** Whether the field was sent as an empty list or map. */
export function isEmptyCollection(object: object | undefined, field: string): boolean {
  return (object as Marked | undefined)?.[EMPTY_COLLECTIONS]?.includes(field) === true;
}

/** The field as it was sent: an empty list or map as an empty list, which prints as either. */
export function sentValue(object: Readonly<Record<string, unknown>>, field: string): unknown {
  return object[field] ?? (isEmptyCollection(object, field) ? [] : undefined);
}

/** A deep copy of JSON with its empty collections. What the original shares, the copy shares. */
export function cloneObject<T>(value: T): T {
  return clone(value, new Map()) as T;
}

function clone(value: unknown, copies: Map<object, object>): unknown {
  if (typeof value !== "object" || value === null) return value;
  const known = copies.get(value);
  if (known !== undefined) return known;
  if (Array.isArray(value)) return value.map((item) => clone(item, copies));
  const copy: Record<string, unknown> & { [EMPTY_COLLECTIONS]?: readonly string[] } = {};
  copies.set(value, copy);
  const members = value as Readonly<Record<string, unknown>>;
  for (const key of Object.keys(value)) {
    const member = members[key];
    if (key === "__proto__") define(copy, key, clone(member, copies));
    else copy[key] = typeof member === "object" ? clone(member, copies) : member;
  }
  const fields = (value as Marked)[EMPTY_COLLECTIONS];
  if (fields !== undefined) copy[EMPTY_COLLECTIONS] = fields;
  return copy;
}
