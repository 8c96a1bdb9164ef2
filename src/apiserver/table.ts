/** Objects as rows for people: meta.k8s.io Table. */
import type { Kind } from "#api/kind.ts";
import type { ApiValue } from "./answer.ts";
import { partialMetadata } from "./partial-metadata.ts";
import type { Revision } from "./revision.ts";

export function tableOf(
  kind: Kind,
  items: readonly Revision[],
  metadata: Readonly<Record<string, unknown>>,
  version: "v1" | "v1beta1",
  query: URLSearchParams,
  nowMs: number,
): ApiValue {
  const include = query.get("includeObject") ?? "Metadata";
  return {
    kind: "Table",
    apiVersion: `meta.k8s.io/${version}`,
    metadata,
    columnDefinitions: kind.columns.filter(({ headless }) => !headless).map(columnDefinition),
    rows: items.map((item) => ({
      cells: kind.columns.map((column) => column.cell(item.value, nowMs)),
      ...conditionsOf(kind, item),
      object: rowObject(item, include, version),
    })),
  } as ApiValue;
}

function columnDefinition({ name, type, format, description, priority }: Kind["columns"][number]) {
  return {
    name,
    type,
    format: format ?? "",
    description: description ?? "",
    priority: priority ?? 0,
  };
}

function conditionsOf(kind: Kind, item: Revision): Record<string, unknown> {
  const conditions = kind.rowConditions?.(item.value) ?? [];
  return conditions.length === 0 ? {} : { conditions };
}

function rowObject(item: Revision, include: string, version: "v1" | "v1beta1"): unknown {
  if (include === "None") return null;
  return include === "Object" ? item.value : partialMetadata(item.value, version);
}
