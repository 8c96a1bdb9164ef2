/**
 * Reads the tables of bootstrap roles. A line at the margin names a role; the indented lines below
 * are its rules, and a line indented further continues the one before it:
 *
 *     name
 *       VERBS GROUPS:RESOURCES [=NAMES]      resources; the core group is the empty name
 *       VERBS PATHS                          paths that are no resources
 *
 * Lists are separated by commas. `read`, `write` and `manage` stand for the usual sets of verbs.
 */
import type { PolicyRule } from "#api/generated/rbac.v1.ts";

export interface NamedRules {
  readonly name: string;
  readonly rules: readonly PolicyRule[];
}

const READ = ["get", "list", "watch"];
const WRITE = ["create", "delete", "deletecollection", "patch", "update"];
const VERB_SETS: Readonly<Record<string, readonly string[]>> = {
  read: READ,
  write: WRITE,
  manage: [...WRITE, ...READ].sort(),
};

export function parseRoles(table: string): NamedRules[] {
  const roles: { name: string; rules: PolicyRule[] }[] = [];
  for (const line of table
    .trim()
    .replace(/,\n {4}/g, ",")
    .split("\n")) {
    if (line.startsWith("  ")) roles.at(-1)!.rules.push(parseRule(line.trim()));
    else roles.push({ name: line, rules: [] });
  }
  return roles;
}

function parseRule(line: string): PolicyRule {
  const [verbText = "", what = "", names] = line.split(" ");
  const verbs = VERB_SETS[verbText] ?? verbText.split(",");
  if (!what.includes(":")) return { verbs, nonResourceURLs: what.split(",") };
  const [groups = "", resources = ""] = what.split(":");
  return {
    verbs,
    apiGroups: groups.split(","),
    resources: resources.split(","),
    ...(names === undefined ? {} : { resourceNames: names.slice(1).split(",") }),
  };
}
