/** A quantity as a number: cores of processor time, otherwise the value itself. 0 for what is none. Pure. */
import { quantityMilliValue, quantityOf, quantityValue } from "#api/meta/quantity.ts";

export function amountOf(text: unknown, name: string): number {
  if (typeof text !== "string") return 0;
  try {
    const quantity = quantityOf(text);
    return name === "cpu" ? quantityMilliValue(quantity) / 1000 : quantityValue(quantity);
  } catch {
    return 0;
  }
}
