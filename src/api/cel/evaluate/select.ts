/** Fields of values, by name. */
import { CelError, CelMap, CelObject, Optional, type Value } from "../values/value.ts";

export function selectField(target: Value, field: string): Value {
  if (target instanceof Optional) return selectOptional(target, field);
  const value = fieldOf(target, field);
  if (value === undefined) throw new CelError(`no such key: ${field}`);
  return value;
}

export function selectOptional(target: Value, field: string): Optional {
  const inner = target instanceof Optional ? target.value : target;
  if (inner === undefined) return Optional.none;
  const value = fieldOf(inner, field);
  return value === undefined ? Optional.none : new Optional(value);
}

export function hasField(target: Value, field: string): boolean {
  const inner = target instanceof Optional ? target.value : target;
  return inner !== undefined && fieldOf(inner, field) !== undefined;
}

function fieldOf(target: Value, field: string): Value | undefined {
  if (target instanceof CelMap) return target.find(field);
  if (target instanceof CelObject) return target.field(field);
  throw new CelError("no such overload");
}
