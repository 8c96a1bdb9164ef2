/** The difference between two values of a type, line by line, as messages about updates show it. */
import { htmlSafeJson } from "#api/meta/go-json.ts";
import { internalForm } from "#api/validation/internal-form.ts";
import { unifiedDiff } from "#lib/text/unified-diff.ts";

export function internalDiff(type: string, before: unknown, after: unknown): string {
  return unifiedDiff(prettyJson(type, before), prettyJson(type, after));
}

function prettyJson(type: string, value: unknown): string {
  return htmlSafeJson(JSON.stringify(internalForm(type, value), withoutBigInts, 1));
}

/** Integers beyond 2^53 are shown inexactly in the diff. */
function withoutBigInts(_key: string, value: unknown): unknown {
  return typeof value === "bigint" ? Number(value) : value;
}
