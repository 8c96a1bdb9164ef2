/** A deep copy of a JSON value that shares nothing. Several times faster than structuredClone. */
import { define } from "./normal-values.ts";

export function cloneJson<T>(value: T): T {
  return clone(value) as T;
}

function clone(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(clone);
  const copy: Record<string, unknown> = {};
  for (const key in value) {
    const member = clone((value as Record<string, unknown>)[key]);
    if (key === "__proto__") define(copy, key, member);
    else copy[key] = member;
  }
  return copy;
}
