/** The conflict Status of an apply: fields that other managers own. */
import type { Status } from "#api/generated/meta.v1.ts";
import { goQuote } from "#api/meta/go-quote.ts";
import { applyConflictStatus } from "#api/meta/status.ts";
import { pathsOf } from "./field-set.ts";
import { type Manager, managerId } from "./managers.ts";
import type { Conflict } from "./ownership.ts";
import { formatElement } from "./path-element.ts";

export function conflictsStatus(conflicts: readonly Conflict[]): Status {
  const sorted = conflicts.toSorted((a, b) =>
    managerId(a.manager) < managerId(b.manager) ? -1 : 1,
  );
  const groups = sorted.map(({ manager, fields }) => ({
    who: describeManager(manager),
    paths: [...pathsOf(fields)].map((path) => path.map(formatElement).join("")),
  }));
  const causes = groups.flatMap(({ who, paths }) =>
    paths.map((field) => ({
      reason: "FieldManagerConflict",
      message: `conflict with ${who}`,
      field,
    })),
  );
  const [only] = causes;
  if (causes.length === 1 && only !== undefined) {
    return applyConflictStatus(
      `Apply failed with 1 conflict: ${only.message}: ${only.field}`,
      causes,
    );
  }
  const lines = groups.flatMap(({ who, paths }) => [
    `conflicts with ${who}:`,
    ...paths.map((path) => `- ${path}`),
  ]);
  return applyConflictStatus(
    `Apply failed with ${causes.length} conflicts: ${lines.join("\n")}`,
    causes,
  );
}

function describeManager({ name, operation, apiVersion, subresource }: Manager): string {
  const where = subresource === "" ? "" : ` with subresource ${goQuote(subresource)}`;
  const how = operation === "Update" ? ` using ${apiVersion}` : "";
  return `${goQuote(name)}${where}${how}`;
}
