/** Names that no request can ask for: looking such an object up fails before it is sent. */
import { goQuote } from "#api/meta/go-quote.ts";
import { isPathSegmentName } from "#api/validation/names.ts";

/** Why the name cannot be asked for; undefined if it can. */
export function unaskableName(name: string): string | undefined {
  if (name === "") return "resource name may not be empty";
  const faults = isPathSegmentName(name);
  if (faults.length === 0) return undefined;
  return `invalid resource name ${goQuote(name)}: [${faults.join(" ")}]`;
}
