/**
 * The path that an endpoint sees. With a rewrite target, groups of a regular expression stand for `$1`
 * to `$9`; for Prefix and Exact paths the target takes the place of what the rule matched.
 */
import type { PathMatch } from "../routes/path-rules.ts";

export function rewritePath(
  path: string,
  { matched, groups }: PathMatch<unknown>,
  target: string | undefined,
): string {
  if (target === undefined) return path;
  if (groups.length > 0) {
    return target.replace(/\$([1-9])/g, (_, digit: string) => groups[Number(digit)] ?? "");
  }
  const rest = path.slice(matched.length);
  return rest.startsWith("/") && target.endsWith("/") ? target + rest.slice(1) : target + rest;
}
