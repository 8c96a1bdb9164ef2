/** JSON as Go writes it where its text matters: safe inside HTML, maps in the order of their keys. */

/** JSON text with what HTML could misread written as escapes. */
export function htmlSafeJson(json: string): string {
  return json.replace(HTML, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** A value whose objects are all maps. */
export function goMapJson(value: unknown): string {
  return htmlSafeJson(sortedJson(value));
}

const HTML = /[<>&\u2028\u2029]/g;

function sortedJson(value: unknown): string {
  if (typeof value === "bigint") return String(value);
  if (Array.isArray(value)) return `[${value.map(sortedJson).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  const members = Object.entries(value)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, member]) => `${JSON.stringify(key)}:${sortedJson(member)}`);
  return `{${members.join(",")}}`;
}
