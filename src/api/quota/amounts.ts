/** Arithmetic over amounts by name. */
import { compareAmounts } from "#api/kinds/core/v1/resources/resource-lists.ts";
import {
  addQuantities,
  formatQuantity,
  quantityOf,
  quantitySign,
  subtractQuantities,
} from "#api/meta/quantity.ts";

export type Amounts = Readonly<Record<string, string>>;

export function addAmounts(a: Amounts, b: Amounts): Amounts {
  const sum: Record<string, string> = { ...a };
  for (const [name, amount] of Object.entries(b)) {
    const known = sum[name];
    sum[name] =
      known === undefined
        ? amount
        : formatQuantity(addQuantities(quantityOf(known), quantityOf(amount)));
  }
  return sum;
}

/** What `a` has more than `b`; where it has less, nothing. */
export function excessAmounts(a: Amounts, b: Amounts): Amounts {
  return Object.fromEntries(
    Object.entries(a).map(([name, amount]) => {
      const other = b[name];
      if (other === undefined) return [name, amount];
      const left = subtractQuantities(quantityOf(amount), quantityOf(other));
      return [name, quantitySign(left) < 0 ? "0" : formatQuantity(left)];
    }),
  );
}

export function pickAmounts(amounts: Amounts, names: readonly string[]): Amounts {
  return Object.fromEntries(Object.entries(amounts).filter(([name]) => names.includes(name)));
}

export function withoutZeros(amounts: Amounts): Amounts {
  return Object.fromEntries(
    Object.entries(amounts).filter(([, amount]) => quantitySign(quantityOf(amount)) !== 0),
  );
}

export function negativeNames(amounts: Amounts): string[] {
  const names = Object.keys(amounts);
  return names.filter((name) => quantitySign(quantityOf(amounts[name]!)) < 0);
}

/** The names of which there is more than allowed; what is not named is not limited. */
export function exceededNames(amounts: Amounts, limits: Amounts): string[] {
  return Object.keys(amounts).filter((name) => {
    const limit = limits[name];
    return limit !== undefined && compareAmounts(amounts[name]!, limit) > 0;
  });
}

/** `cpu=1,memory=2Gi`, in the order of names. */
export function amountsText(amounts: Amounts): string {
  return Object.keys(amounts)
    .sort()
    .map((name) => `${name}=${amounts[name]}`)
    .join(",");
}
