/**
 * Lists and maps that were given, and empty. The normal form leaves them out like absent ones, since
 * nothing stored tells the two apart; but a few rules do, and messages show them as they were given.
 *
 * Known of an object while it is the one that the normalizer made: a copy of it has forgotten.
 */
import { define } from "./normal-values.ts";

const emptyFields = new WeakMap<object, Set<string>>();

export function markGivenEmpty(object: object, field: string): void {
  const fields = emptyFields.get(object);
  if (fields === undefined) emptyFields.set(object, new Set([field]));
  else fields.add(field);
}

export function isGivenEmpty(object: object | undefined, field: string): boolean {
  return object !== undefined && emptyFields.get(object)?.has(field) === true;
}

/** The field as it was given: a list or map that was empty as an empty list, which shows as either. */
export function givenValue(object: Readonly<Record<string, unknown>>, field: string): unknown {
  return object[field] ?? (isGivenEmpty(object, field) ? [] : undefined);
}

/** Tells a copy what is known of the original, and gives it back. */
export function carryGiven<T extends object>(original: object, copy: T): T {
  const fields = emptyFields.get(original);
  if (fields !== undefined) emptyFields.set(copy, new Set(fields));
  return copy;
}

/** A deep copy of JSON that knows the same, and shares within itself what the original shares. */
export function cloneGiven<T>(value: T): T {
  return clone(value, new Map()) as T;
}

function clone(value: unknown, copies: Map<object, object>): unknown {
  if (typeof value !== "object" || value === null) return value;
  const known = copies.get(value);
  if (known !== undefined) return known;
  if (Array.isArray(value)) return value.map((item) => clone(item, copies));
  const copy: Record<string, unknown> = {};
  copies.set(value, copy);
  for (const [key, member] of Object.entries(value)) {
    if (key === "__proto__") define(copy, key, clone(member, copies));
    else copy[key] = clone(member, copies);
  }
  return carryGiven(value, copy);
}
