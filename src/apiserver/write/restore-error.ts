/**
 * Upstream's error for a strategic merge patch that puts a value of the wrong type into an object. It
 * turns the patched map into the object without JSON, so its words are not those of the JSON decoder.
 */

/** `error` is the JSON decoder's. What has no other words is returned as it is. */
export function restoreError(error: string): string {
  const match = /^json: cannot unmarshal (\w+) into Go .* of type (\S+)$/.exec(error);
  if (match === null) return error;
  const [, source = "", target = ""] = match;
  const kind = GO_KINDS[source];
  if (kind === undefined) return error;
  if (target.startsWith("[]")) return `cannot restore slice from ${kind}`;
  if (target.startsWith("map[")) return `cannot restore map from ${kind}`;
  if (SCALARS.has(target)) {
    // Go converts numbers to texts, so the refusal comes from another place.
    return kind === "int64" && target === "string"
      ? "cannot convert int64 to string"
      : `unrecognized type: ${target}`;
  }
  // A text fits into every named text, so the target is a struct.
  return kind === "string" ? "cannot restore struct from: string" : error;
}

/** What JSON values are in a map of Go. */
const GO_KINDS: Readonly<Record<string, string>> = {
  string: "string",
  number: "int64",
  bool: "bool",
  object: "map",
  array: "slice",
};

const SCALARS: ReadonlySet<string> = new Set(["string", "bool", "int32", "int64"]);
