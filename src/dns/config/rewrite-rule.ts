/** `rewrite name`: asks for another name than the client did. */
import { RE2JS } from "re2js";
import { nameOf } from "./corefile.ts";

export interface RewriteRule {
  /** Whether further rules are tried after this one matched. */
  readonly isContinued: boolean;
  /** The other name; undefined if the rule does not match. */
  apply(name: string): string | undefined;
}

/** The new name after all rules. */
export function rewriteName(rules: readonly RewriteRule[], name: string): string {
  let current = name;
  for (const rule of rules) {
    const next = rule.apply(current);
    if (next === undefined) continue;
    current = next;
    if (!rule.isContinued) break;
  }
  return current;
}

const MATCHES = ["exact", "prefix", "suffix", "substring", "regex"] as const;

/** From the words after `rewrite`; a text says what is wrong. */
export function parseRewrite(words: readonly string[]): RewriteRule | string {
  const [first = ""] = words;
  const isContinued = first === "continue";
  const [field = "", ...rest] = first === "continue" || first === "stop" ? words.slice(1) : words;
  if (field !== "name") return `rewrite ${field} is not supported`;
  const kind = MATCHES.find((match) => match === rest[0]) ?? "exact";
  const [from = "", to = "", ...more] = kind === rest[0] ? rest.slice(1) : rest;
  if (from === "" || to === "") return "too few arguments for a name rule";
  // Names in answers are always set back to what the client asked for.
  if (more.length > 0 && more.join(" ") !== "answer auto") {
    return `rewrite name … ${more.join(" ")} is not supported`;
  }
  return { isContinued, apply: applier(kind, from, to) };
}

function applier(kind: (typeof MATCHES)[number], given: string, to: string): RewriteRule["apply"] {
  const from = nameOf(given);
  const target = nameOf(to);
  switch (kind) {
    case "exact":
      return (name) => (name === from ? target : undefined);
    case "prefix":
      return (name) => (name.startsWith(from) ? target + name.slice(from.length) : undefined);
    case "suffix":
      return (name) => (name.endsWith(from) ? name.slice(0, -from.length) + target : undefined);
    case "substring":
      return (name) => (name.includes(from) ? name.replaceAll(from, target) : undefined);
    case "regex": {
      const pattern = RE2JS.compile(given.replace(/\\\.\$$|\.\$$/, "$"));
      return (name) => {
        const matcher = pattern.matcher(name);
        if (!matcher.find()) return undefined;
        const groups = (index: string): string =>
          Number(index) <= matcher.groupCount() ? (matcher.group(Number(index)) ?? "") : "";
        return target.replace(/\{(\d+)\}/g, (_, index: string) => groups(index));
      };
    }
  }
}
