/** Reads values of any type: fields of objects are input, and may be of another type than their kind says. Pure. */
export type Members = Readonly<Record<string, unknown>>;

/** None of what is no object. */
export function membersOf(value: unknown): Members {
  return typeof value === "object" && value !== null ? { ...value } : {};
}

/** Empty for what is no array. */
export function listOf(value: unknown): readonly Members[] {
  return Array.isArray(value) ? value.map(membersOf) : [];
}
