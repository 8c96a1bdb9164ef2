/** Objects as rows for people: meta.k8s.io Table. */
import type { Kind } from "#api/kind.ts";
import type { Clock } from "#lib/time/clock.ts";
import type { Revision } from "../storage/revision.ts";
import type { ApiValue } from "./answer.ts";
import type { ColumnDescriptions } from "./column-descriptions.ts";
import { partialMetadata } from "./partial-metadata.ts";

export type MetaVersion = "v1" | "v1beta1";

export interface TableRequest {
  readonly kind: TableKind;
  readonly items: readonly Row[];
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly version: MetaVersion;
  /** Says what of each object stands beside its row. */
  readonly query: URLSearchParams;
}

type TableKind = Pick<Kind, "columns" | "rowConditions" | "compareRows">;
type Row = Pick<Revision, "value">;

export class Tables {
  readonly #descriptions: ColumnDescriptions;
  readonly #clock: Pick<Clock, "nowMs">;

  constructor(descriptions: ColumnDescriptions, clock: Pick<Clock, "nowMs">) {
    this.#descriptions = descriptions;
    this.#clock = clock;
  }

  of({ kind, items, metadata, version, query }: TableRequest): ApiValue {
    const include = query.get("includeObject") ?? "Metadata";
    const nowMs = this.#clock.nowMs();
    return {
      kind: "Table",
      apiVersion: `meta.k8s.io/${version}`,
      metadata,
      columnDefinitions: this.columns(kind),
      rows: inOrder(kind, items).map((item) => ({
        cells: kind.columns.map((column) => column.cell(item.value, nowMs)),
        ...conditionsOf(kind, item),
        object: rowObject(item, include, version),
      })),
    } as ApiValue;
  }

  columns(kind: TableKind): readonly unknown[] {
    const headed = kind.columns.filter(({ headless }) => !headless);
    return headed.map((column) => ({
      name: column.name,
      type: column.type,
      format: column.format ?? "",
      description: this.#descriptions.of(column),
      priority: column.priority ?? 0,
    }));
  }
}

function inOrder({ compareRows }: TableKind, items: readonly Row[]): readonly Row[] {
  if (compareRows === undefined) return items;
  return items.toSorted((a, b) => compareRows(a.value, b.value));
}

function conditionsOf(kind: TableKind, item: Row): Record<string, unknown> {
  const conditions = kind.rowConditions?.(item.value) ?? [];
  return conditions.length === 0 ? {} : { conditions };
}

function rowObject(item: Row, include: string, version: MetaVersion): unknown {
  if (include === "None") return null;
  return include === "Object" ? item.value : partialMetadata(item.value, version);
}
