/** A pod against a level and version. */
import { baselineChecks } from "./baseline-checks.ts";
import type { Check, PodTemplate, Violation } from "./check.ts";
import type { LevelVersion } from "./policy.ts";
import { restrictedChecks } from "./restricted-checks.ts";

/** Later versions have no rules of their own yet. */
const LATEST_MINOR = 36;

export function violationsOf(pod: PodTemplate, { level, version }: LevelVersion): Violation[] {
  if (level === "privileged") return [];
  const minor = version === "latest" ? LATEST_MINOR : Math.min(version, LATEST_MINOR);
  return checksOf(level, minor).flatMap(({ check }) => check(pod, minor) ?? []);
}

/** All that is wrong, in one line. */
export function violationsText(violations: readonly Violation[]): string {
  return violations
    .map(({ reason, detail }) => (detail === "" ? reason : `${reason} (${detail})`))
    .join(", ");
}

function checksOf(level: "baseline" | "restricted", minor: number): readonly Check[] {
  const isThere = ({ since }: Check): boolean => since <= minor;
  const baseline = baselineChecks.filter(isThere);
  if (level === "baseline") return baseline;
  const restricted = restrictedChecks.filter(isThere);
  const replaced = new Set(restricted.map(({ replaces }) => replaces));
  return [...baseline.filter(({ id }) => !replaced.has(id)), ...restricted];
}
