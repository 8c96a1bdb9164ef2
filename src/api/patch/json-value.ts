/** JSON values as patches see them. Nothing here changes its arguments unless it says so. */

export type JsonObject = Readonly<Record<string, unknown>>;

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The member of that name, undefined if there is none: inherited properties do not count. */
export function member(object: JsonObject, key: string): unknown {
  return Object.hasOwn(object, key) ? object[key] : undefined;
}

/** Sets a member in place. `__proto__` is a key like any other. */
export function setMember(object: Record<string, unknown>, key: string, value: unknown): void {
  if (key !== "__proto__") object[key] = value;
  else
    Object.defineProperty(object, key, {
      value,
      writable: true,
      enumerable: true,
      configurable: true,
    });
}

/** Members that are null go, all the way down; items of lists stay. */
export function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (!isObject(value)) return value;
  const kept: Record<string, unknown> = {};
  for (const [name, child] of Object.entries(value)) {
    if (child !== null) setMember(kept, name, withoutNulls(child));
  }
  return kept;
}

/** The same JSON value, whatever the order of members; a member that is undefined is absent. */
export function jsonEqual(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  if (Array.isArray(a)) return Array.isArray(b) && listsEqual(a, b);
  return !Array.isArray(b) && objectsEqual(a as JsonObject, b as JsonObject);
}

function listsEqual(a: readonly unknown[], b: readonly unknown[]): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) {
    if (a[i] !== b[i] && !jsonEqual(a[i], b[i])) return false;
  }
  return true;
}

/** Hot: compares an object with the one before on every write. */
function objectsEqual(a: JsonObject, b: JsonObject): boolean {
  let members = 0;
  for (const key in a) {
    const value = a[key];
    if (value === undefined) continue;
    members++;
    const other = b[key];
    if (value === other) {
      if (Object.hasOwn(Object.prototype, key) && !Object.hasOwn(b, key)) return false;
    } else if (!Object.hasOwn(b, key) || !jsonEqual(value, other)) return false;
  }
  for (const key in b) if (b[key] !== undefined) members--;
  return members === 0;
}
