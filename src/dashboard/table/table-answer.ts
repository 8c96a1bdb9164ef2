/** Reads the Tables (meta.k8s.io/v1) of the API server into rows; only what is shown is kept. */
import type { FieldTree } from "#lib/json/field-tree.ts";
import type { Row } from "./table-rows.ts";

export interface Column {
  readonly name: string;
  readonly type: string;
  readonly description: string;
  /** Above 0 it is shown only on request. */
  readonly priority: number;
}

/** What is read of a Table; owners only to choose by them. */
export function tableFields(ownerUid?: string): FieldTree {
  const names = { uid: true, name: true, namespace: true } as const;
  const times = { creationTimestamp: true, deletionTimestamp: true } as const;
  const owned = { ...names, ...times, ownerReferences: { uid: true } } as const;
  const metadata: FieldTree = ownerUid === undefined ? { ...names, ...times } : owned;
  return { columnDefinitions: true, rows: { cells: true, object: { metadata } } };
}

export function columnsOf(table: unknown): readonly Column[] {
  return listOf(fieldOf(table, "columnDefinitions")).map((column) => ({
    name: textOf(column, "name"),
    type: textOf(column, "type"),
    description: textOf(column, "description"),
    priority: Number(fieldOf(column, "priority") ?? 0),
  }));
}

/** With `ownerUid` only those of objects that have such an owner. */
export function rowsOf(table: unknown, ownerUid?: string): readonly Row[] {
  return listOf(fieldOf(table, "rows")).flatMap((row) => {
    const metadata = fieldOf(fieldOf(row, "object"), "metadata");
    if (ownerUid !== undefined && !isOwnedBy(metadata, ownerUid)) return [];
    const namespace = textOf(metadata, "namespace");
    const name = textOf(metadata, "name");
    return {
      // Objects of some aggregated servers have no uid.
      uid: textOf(metadata, "uid") || `${namespace}/${name}`,
      namespace,
      name,
      createdAt: textOf(metadata, "creationTimestamp"),
      isDeleting: fieldOf(metadata, "deletionTimestamp") !== undefined,
      cells: listOf(fieldOf(row, "cells")),
    };
  });
}

function isOwnedBy(metadata: unknown, uid: string): boolean {
  return listOf(fieldOf(metadata, "ownerReferences")).some((owner) => textOf(owner, "uid") === uid);
}

function fieldOf(value: unknown, name: string): unknown {
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, name)) return undefined;
  return (value as Readonly<Record<string, unknown>>)[name];
}

function textOf(value: unknown, name: string): string {
  const found = fieldOf(value, name);
  return typeof found === "string" ? found : "";
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
