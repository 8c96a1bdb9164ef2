/** Reads parts of a configuration document whose form was not checked yet. */
export type Json = Readonly<Record<string, unknown>>;

/** The object, or an empty one. */
export function objectOf(value: unknown): Json {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as Json)
    : {};
}

/** The list, or an empty one. */
export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
