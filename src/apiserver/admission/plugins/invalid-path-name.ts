/** Names that cannot be a path segment: a client cannot send a request for such an object. */
import { goQuote } from "#api/meta/go-quote.ts";
import { isPathSegmentName } from "#api/validation/names.ts";

/** Why the name is no valid path segment; undefined if it is. */
export function invalidPathName(name: string): string | undefined {
  if (name === "") return "resource name may not be empty";
  const faults = isPathSegmentName(name);
  if (faults.length === 0) return undefined;
  return `invalid resource name ${goQuote(name)}: [${faults.join(" ")}]`;
}
