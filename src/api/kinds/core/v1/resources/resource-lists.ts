/** Amounts of resources: their rules, and the arithmetic over the containers of a pod. */
import type { Container, PodSpec, ResourceList } from "#api/generated/core.v1.ts";
import {
  addQuantities,
  compareQuantities,
  formatQuantity,
  type Quantity,
  quantityOf,
  quantitySign,
} from "#api/meta/quantity.ts";
import { type FieldError, invalid } from "#api/validation/field-error.ts";
import type { Path } from "#api/validation/path.ts";
import { isIntegerResource } from "./resource-names.ts";

export function validateResourceQuantity(name: string, text: string, path: Path): FieldError[] {
  if (!text.startsWith("-") && !isIntegerResource(name)) return []; // nothing left that can be wrong
  const quantity = quantityOf(text);
  const errors: FieldError[] = [];
  if (quantitySign(quantity) < 0) {
    errors.push(invalid(path, text, "must be greater than or equal to 0"));
  }
  if (isIntegerResource(name) && !isWhole(quantity)) {
    errors.push(invalid(path, text, "must be an integer"));
  }
  return errors;
}

/**
 * No thousandths left over. Amounts beyond 64 bits count in the way in which the reference server's
 * arithmetic overflows, since its warnings show it.
 */
export function isWhole({ mantissa, exponent }: Quantity): boolean {
  if (exponent >= 0 && typeof mantissa === "number") return true;
  const digits = `${mantissa < 0 ? -mantissa : mantissa}`.length;
  if (exponent >= -3) {
    if (digits <= INT64_DIGITS)
      return (BigInt(mantissa) * 10n ** BigInt(exponent + 3)) % 1000n === 0n;
    const low = BigInt.asIntN(64, BigInt(mantissa));
    return BigInt.asIntN(64, low * 10n ** BigInt(exponent + 3)) % 1000n === 0n;
  }
  const unit = 10n ** BigInt(-exponent);
  return BigInt(mantissa) % unit === 0n;
}

const INT64_DIGITS = 18;

export function compareAmounts(a: string, b: string): -1 | 0 | 1 {
  return a === b ? 0 : compareQuantities(quantityOf(a), quantityOf(b));
}

/**
 * What all containers of a pod need together: the sum of those that run side by side, or what the
 * most demanding init container needs on top of the sidecars started before it.
 */
export function sumOverContainers(
  spec: PodSpec,
  listOf: (container: Container) => ResourceList | undefined,
): Record<string, string> {
  const total: Amounts = new Map();
  for (const container of spec.containers ?? []) add(total, listOf(container));

  const sidecars: Amounts = new Map();
  const initMax: Amounts = new Map();
  for (const container of spec.initContainers ?? []) {
    const list = listOf(container);
    if (container.restartPolicy === "Always") {
      add(total, list);
      add(sidecars, list);
      raise(initMax, sidecars);
    } else {
      const needed: Amounts = new Map();
      add(needed, list);
      for (const [name, amount] of sidecars) addAmount(needed, name, amount);
      raise(initMax, needed);
    }
  }
  raise(total, initMax);
  return Object.fromEntries([...total].map(([name, amount]) => [name, formatQuantity(amount)]));
}

type Amounts = Map<string, Quantity>;

function add(amounts: Amounts, list: ResourceList | undefined): void {
  if (list === undefined) return;
  for (const [name, text] of Object.entries(list)) addAmount(amounts, name, quantityOf(text));
}

function addAmount(amounts: Amounts, name: string, amount: Quantity): void {
  const known = amounts.get(name);
  amounts.set(name, known === undefined ? amount : addQuantities(known, amount));
}

function raise(amounts: Amounts, others: Amounts): void {
  for (const [name, amount] of others) {
    const known = amounts.get(name);
    if (known === undefined || compareQuantities(amount, known) > 0) amounts.set(name, amount);
  }
}
