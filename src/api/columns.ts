/** Columns that most tables share, and the texts that cells are made of. */
import type { LabelSelector } from "#api/generated/meta.v1.ts";
import type { Column, KubeObject } from "#api/kind.ts";
import { formatSelector, selectorOf } from "#api/meta/label-selector.ts";

export const nameColumn: Column<KubeObject> = {
  name: "Name",
  type: "string",
  format: "name",
  describedBy: "meta.v1.ObjectMeta.name",
  cell: ({ metadata }) => metadata.name ?? "",
};

export const ageColumn: Column<KubeObject> = {
  name: "Age",
  type: "string",
  describedBy: "meta.v1.ObjectMeta.creationTimestamp",
  cell: ({ metadata }, nowMs) => ageOf(metadata.creationTimestamp, nowMs),
};

/** Where a kind has no columns of its own. */
export const createdAtColumn: Column<KubeObject> = {
  name: "Created At",
  type: "date",
  describedBy: "meta.v1.ObjectMeta.creationTimestamp",
  cell: ({ metadata }) => metadata.creationTimestamp ?? "",
};

export const NONE = "<none>";
export const UNKNOWN = "<unknown>";
export const UNSET = "<unset>";

/** How long ago a timestamp was: `5m`, `2d3h`; `<unknown>` without one. */
export function ageOf(timestamp: string | undefined, nowMs: number): string {
  return timestamp === undefined ? UNKNOWN : humanDuration(nowMs - Date.parse(timestamp));
}

/** A duration in at most two units and two or three digits, coarser as it gets longer. */
export function humanDuration(durationMs: number): string {
  const seconds = Math.trunc(durationMs / 1000);
  if (seconds < -1) return "<invalid>"; // clocks of two machines may differ by a moment, not more
  if (seconds < 0) return "0s";
  if (seconds < 120) return `${seconds}s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 10) return twoUnits(minutes, "m", seconds % 60, "s");
  if (minutes < 180) return `${minutes}m`;
  const hours = Math.floor(minutes / 60);
  if (hours < 8) return twoUnits(hours, "h", minutes % 60, "m");
  if (hours < 48) return `${hours}h`;
  const days = Math.floor(hours / 24);
  if (hours < 24 * 8) return twoUnits(days, "d", hours % 24, "h");
  if (days < 365 * 2) return `${days}d`;
  const years = Math.floor(days / 365);
  return days < 365 * 8 ? twoUnits(years, "y", days % 365, "d") : `${years}y`;
}

/** `a=1,b=2` in the order of the keys; `<none>` for no labels. */
export function formatLabels(labels: Readonly<Record<string, string>> | undefined): string {
  const pairs = Object.entries(labels ?? {}).map(([key, value]) => `${key}=${value}`);
  return pairs.length === 0 ? NONE : pairs.sort().join(",");
}

/** `a=1,b in (2,3),!c` in the order of the keys; `<none>` selects everything or nothing at all. */
export function formatLabelSelector(selector: LabelSelector | undefined): string {
  const parsed = selectorOf(selector);
  if (!parsed.ok) return "<error>";
  return formatSelector(parsed.value) || NONE;
}

function twoUnits(large: number, largeUnit: string, small: number, smallUnit: string): string {
  return small === 0 ? `${large}${largeUnit}` : `${large}${largeUnit}${small}${smallUnit}`;
}
