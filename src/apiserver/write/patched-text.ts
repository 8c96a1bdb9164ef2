/**
 * How upstream shows a patched document that turned out wrong: what a patch has touched has its keys
 * sorted, everything else is as it was written.
 */
import { encodeJson } from "#api/codec/json.ts";
import { isObject } from "#api/patch/json-value.ts";

export function patchedText(document: unknown, ...untouched: readonly unknown[]): string {
  const asWritten = new Set<unknown>();
  for (const value of untouched) collect(value, asWritten);
  return write(document, asWritten);
}

/** A map in Go's `%+v` notation: `map[a:1 b:map[c:[x y]]]`. */
export function goMapText(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(goMapText).join(" ")}]`;
  if (!isObject(value)) return value === null || value === undefined ? "<nil>" : String(value);
  const members = Object.keys(value)
    .sort()
    .map((key) => `${key}:${goMapText(value[key])}`);
  return `map[${members.join(" ")}]`;
}

function collect(value: unknown, into: Set<unknown>): void {
  if (typeof value !== "object" || value === null || into.has(value)) return;
  into.add(value);
  for (const inner of Object.values(value)) collect(inner, into);
}

function write(value: unknown, asWritten: ReadonlySet<unknown>): string {
  if (typeof value !== "object" || value === null || asWritten.has(value)) return encodeJson(value);
  if (Array.isArray(value)) return `[${value.map((item) => write(item, asWritten)).join(",")}]`;
  const members = Object.entries(value)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, inner]) => `${JSON.stringify(key)}:${write(inner, asWritten)}`);
  return `{${members.join(",")}}`;
}
