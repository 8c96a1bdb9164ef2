/**
 * Where two JSON values differ, value by value: what a test prints, and what an explanation of a
 * change shows. Order of members does not count, order of items does.
 */
import { isObject } from "#api/patch/json-value.ts";

export interface Difference {
  /** `spec.containers[0].image`, `metadata.labels["a/b"]`; "" for the values themselves. */
  readonly path: string;
  /** Undefined where one side has nothing. */
  readonly before: unknown;
  readonly after: unknown;
}

export function structuralDiff(before: unknown, after: unknown): readonly Difference[] {
  const differences: Difference[] = [];
  collect(before, after, "", differences);
  return differences;
}

/** One line each: `spec.replicas: 1 → 2`, `+` and `-` for what only one side has. */
export function formatDifferences(differences: readonly Difference[]): string {
  return differences.map(formatDifference).join("\n");
}

const IDENTIFIER = /^[A-Za-z_][\w-]*$/;

function collect(before: unknown, after: unknown, path: string, into: Difference[]): void {
  if (before === after) return;
  if (Array.isArray(before) && Array.isArray(after)) {
    for (let i = 0; i < Math.max(before.length, after.length); i++) {
      collect(before[i], after[i], `${path}[${i}]`, into);
    }
  } else if (isObject(before) && isObject(after)) {
    for (const name of new Set([...Object.keys(before), ...Object.keys(after)])) {
      const [old, now] = [before, after].map((side) =>
        Object.hasOwn(side, name) ? side[name] : undefined,
      );
      collect(old, now, childPath(path, name), into);
    }
  } else into.push({ path, before, after });
}

function childPath(path: string, name: string): string {
  if (!IDENTIFIER.test(name)) return `${path}[${JSON.stringify(name)}]`;
  return path === "" ? name : `${path}.${name}`;
}

function formatDifference({ path, before, after }: Difference): string {
  if (before === undefined) return `+ ${path}: ${shown(after)}`;
  if (after === undefined) return `- ${path}: ${shown(before)}`;
  return `${path}: ${shown(before)} → ${shown(after)}`;
}

function shown(value: unknown): string {
  return typeof value === "bigint" ? String(value) : JSON.stringify(value);
}
