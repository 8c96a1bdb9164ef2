/** The difference between two values of a type, line by line, as messages about updates show it. */
import { internalForm } from "#api/validation/internal-form.ts";
import { unifiedDiff } from "#lib/unified-diff.ts";

export function internalDiff(type: string, before: unknown, after: unknown): string {
  return unifiedDiff(prettyJson(type, before), prettyJson(type, after));
}

/** Characters that mean something in a page are escaped, as in every JSON text of the server. */
function prettyJson(type: string, value: unknown): string {
  return JSON.stringify(internalForm(type, value), null, 1).replace(
    /[<>&\u2028\u2029]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
