/**
 * The paths of one host.
 *
 * Promises:
 * 1. An Exact path wins, then regular expressions (the longest first), then the longest Prefix.
 * 2. A Prefix matches whole elements: `/a/b` matches `/a/b` and `/a/b/c`, not `/a/bc`.
 * 3. A path that is there already is not replaced.
 * 4. A lookup costs one map access for each element of the path, up to the deepest rule.
 */
import { RE2JS } from "re2js";

/** A matched route, and what the groups of its regular expression matched. */
export interface PathMatch<R> {
  readonly route: R;
  /** The part of the path that a Prefix or Exact rule matched. */
  readonly matched: string;
  readonly groups: readonly string[];
}

interface RegexRule<R> {
  readonly source: string;
  readonly pattern: RE2JS;
  readonly route: R;
}

/** Regular expressions are tried one by one, so one host may have this many. */
const REGEX_MAX = 200;
/** Longer paths are never matched against regular expressions. */
const REGEX_PATH_LENGTH_MAX = 4_096;

export class PathRules<R> {
  readonly #exact = new Map<string, R>();
  /** By path without a slash at its end. */
  readonly #prefixes = new Map<string, R>();
  readonly #regexes: RegexRule<R>[] = [];
  #depthMax = 0;

  /** Answers whether it was added: false if the path is taken. */
  addExact(path: string, route: R): boolean {
    if (this.#exact.has(path)) return false;
    this.#exact.set(path, route);
    return true;
  }

  addPrefix(path: string, route: R): boolean {
    const key = path.replace(/\/+$/, "");
    if (this.#prefixes.has(key)) return false;
    this.#prefixes.set(key, route);
    this.#depthMax = Math.max(this.#depthMax, key.split("/").length - 1);
    return true;
  }

  /** Throws if the expression cannot be compiled, or there are too many. */
  addRegex(source: string, route: R): boolean {
    if (this.#regexes.some((rule) => rule.source === source)) return false;
    if (this.#regexes.length >= REGEX_MAX) {
      throw new Error(`a host has at most ${REGEX_MAX} regular expressions`);
    }
    const pattern = RE2JS.compile(`^(?:${source})`, RE2JS.CASE_INSENSITIVE);
    this.#regexes.push({ source, pattern, route });
    this.#regexes.sort((a, b) => b.source.length - a.source.length);
    return true;
  }

  exactRules(): Iterable<readonly [path: string, route: R]> {
    return this.#exact;
  }

  /** Paths have no slash at their end. */
  prefixRules(): Iterable<readonly [path: string, route: R]> {
    return this.#prefixes;
  }

  /** How many elements the longest Prefix has. */
  get depthMax(): number {
    return this.#depthMax;
  }

  get hasRegexes(): boolean {
    return this.#regexes.length > 0;
  }

  find(path: string): PathMatch<R> | undefined {
    const exact = this.#exact.get(path);
    if (exact !== undefined) return { route: exact, matched: path, groups: [] };
    return this.#findRegex(path) ?? this.#findPrefix(path);
  }

  #findRegex(path: string): PathMatch<R> | undefined {
    if (path.length > REGEX_PATH_LENGTH_MAX) return undefined;
    for (const { pattern, route } of this.#regexes) {
      const matcher = pattern.matcher(path);
      if (!matcher.find()) continue;
      const groups: string[] = [];
      for (let i = 0; i <= matcher.groupCount(); i++) groups.push(matcher.group(i) ?? "");
      return { route, matched: path, groups };
    }
    return undefined;
  }

  #findPrefix(path: string): PathMatch<R> | undefined {
    let found: PathMatch<R> | undefined;
    let end = 0;
    for (let depth = 0; depth <= this.#depthMax && end !== -1; depth++) {
      // `end` is where the element number `depth` ends.
      const matched = path.slice(0, end);
      const route = this.#prefixes.get(matched);
      if (route !== undefined) found = { route, matched, groups: [] };
      if (end >= path.length) break;
      const next = path.indexOf("/", end + 1);
      end = next === -1 ? path.length : next;
    }
    return found;
  }
}
