/** The columns of a list: the server's own, with the age counted here, and the namespace if needed. Pure. */
import type { Column } from "../../src/dashboard/table/table-answer.ts";

export interface ShownColumn {
  readonly name: string;
  readonly description: string;
  /** The index of the cell, or what the row itself says. */
  readonly by: number | "created" | "namespace";
  readonly isName: boolean;
  readonly isState: boolean;
}

export function shownColumns(
  columns: readonly Column[],
  options: { readonly isWide: boolean; readonly withNamespace: boolean },
): readonly ShownColumn[] {
  const shown = columns.flatMap(({ name, description, priority }, index): ShownColumn[] => {
    if (priority > 0 && !options.isWide) return [];
    const isAge = name === "Age";
    const isState = /^(Status|Phase|Ready status)$/.test(name);
    return [{ name, description, by: isAge ? "created" : index, isName: index === 0, isState }];
  });
  if (!options.withNamespace) return shown;
  const namespace: ShownColumn = {
    name: "Namespace",
    description: "The namespace of the object.",
    by: "namespace",
    isName: false,
    isState: false,
  };
  return [namespace, ...shown];
}
