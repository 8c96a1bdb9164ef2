/** The order of a list in its address: `order=3`, `order=-created`. Pure. */
import type { RowOrder } from "../../src/dashboard/table/table-rows.ts";

export function orderText(order: RowOrder | undefined): string {
  return order === undefined ? "" : `${order.descending ? "-" : ""}${order.by}`;
}

/** Undefined for what is no order. */
export function orderOf(text: string): RowOrder | undefined {
  const [, minus, by] = /^(-?)(created|\d{1,3})$/.exec(text) ?? [];
  if (by === undefined) return undefined;
  return { by: by === "created" ? by : Number(by), descending: minus === "-" };
}
