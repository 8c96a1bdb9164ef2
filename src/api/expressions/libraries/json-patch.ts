/** Keys in the paths of JSON patches. */
import type { Library } from "#api/cel/library.ts";

export const jsonPatchLibrary: Library = {
  functions: {
    "string_jsonpatch_escapeKey_string jsonpatch.escapeKey(string) -> string": (key: string) =>
      key.replaceAll(/[~/]/g, (char) => (char === "/" ? "~1" : "~0")),
  },
};
