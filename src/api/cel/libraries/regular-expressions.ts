/** Regular expressions in RE2's syntax and time: `matches`, and Kubernetes' `find` and `findAll`. */
import { RE2JS } from "re2js";
import { messageOf } from "#lib/caught.ts";
import type { Library } from "../library.ts";
import { ArrayList, CelError } from "../values/value.ts";

export const regexLibrary: Library = {
  functions: {
    "string_find_string string.find(string) -> string": (text: string, pattern: string) => {
      const matcher = compilePattern(pattern).matcher(text);
      return matcher.find() ? (matcher.group() ?? "") : "";
    },
    "string_find_all_string string.findAll(string) -> list(string)": (
      text: string,
      pattern: string,
    ) => findAll(text, pattern, -1n),
    "string_find_all_string_int string.findAll(string, int) -> list(string)": findAll,
  },
};

export function matches(text: string, pattern: string): boolean {
  return compilePattern(pattern).matcher(text).find();
}

/** Compiled patterns by text; the oldest goes when there are too many. */
const CACHE_MAX = 256;
const compiled = new Map<string, RE2JS>();

export function compilePattern(pattern: string): RE2JS {
  const known = compiled.get(pattern);
  if (known !== undefined) return known;
  let fresh: RE2JS;
  try {
    fresh = RE2JS.compile(pattern);
  } catch (error) {
    throw new CelError(`error parsing regexp: ${messageOf(error)}`);
  }
  if (compiled.size >= CACHE_MAX) compiled.delete(compiled.keys().next().value!);
  compiled.set(pattern, fresh);
  return fresh;
}

function findAll(text: string, pattern: string, limit: bigint): ArrayList {
  const matcher = compilePattern(pattern).matcher(text);
  const found: string[] = [];
  while ((limit < 0n || BigInt(found.length) < limit) && matcher.find()) {
    found.push(matcher.group() ?? "");
  }
  return new ArrayList(found);
}
