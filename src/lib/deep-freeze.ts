/**
 * Freezes a JSON value all the way down. What is frozen already is taken to be frozen below too,
 * so sharing parts between values costs nothing.
 */
export function deepFreeze<T>(value: T): T {
  if (typeof value === "object" && value !== null && !Object.isFrozen(value)) freeze(value);
  return value;
}

function freeze(value: object): void {
  Object.freeze(value);
  if (Array.isArray(value)) {
    for (const item of value) {
      if (typeof item === "object" && item !== null && !Object.isFrozen(item)) freeze(item);
    }
    return;
  }
  for (const key in value) {
    const inner = (value as Record<string, unknown>)[key];
    if (typeof inner === "object" && inner !== null && !Object.isFrozen(inner)) freeze(inner);
  }
}
