/** Values in messages as Go's `%v` prints them: `map[a:1 b:[x y]]`, keys in order, nil as `<nil>`. */
export function goFormat(value: unknown): string {
  if (value === null || value === undefined) return "<nil>";
  if (Array.isArray(value)) return `[${value.map(goFormat).join(" ")}]`;
  if (typeof value === "object") {
    const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
    return `map[${entries.map(([key, v]) => `${key}:${goFormat(v)}`).join(" ")}]`;
  }
  if (typeof value === "number" && !Number.isInteger(value)) return formatFloat(value);
  return String(value);
}

/** Go switches to an exponent below 1e-4, JavaScript below 1e-6, and Go's has two digits. */
function formatFloat(value: number): string {
  const size = Math.abs(value);
  if (size >= 1e-4 && size < 1e21) return String(value);
  return value.toExponential().replace(/e([-+])(\d)$/, "e$10$2");
}
