/**
 * How much of a device's capacity a request consumes: what it asks for, rounded up as the device's
 * policy says, or the policy's default, or everything.
 */
import type {
  CapacityRequestPolicy,
  CapacityRequestPolicyRange,
  Device,
  DeviceCapacity,
} from "#api/generated/resource.v1.ts";
import {
  addQuantities,
  compareQuantities,
  type Quantity,
  quantityFrom,
  quantityOf,
  quantityValue,
  subtractQuantities,
  ZERO_QUANTITY,
} from "#api/meta/quantity.ts";

/** Amounts by the name of the capacity. */
export type CapacityUse = ReadonlyMap<string, Quantity>;

/** Undefined if the device does not have a capacity that is asked for, or its policy forbids it. */
export function capacityUse(
  requested: Readonly<Record<string, string>>,
  { capacity = {} }: Pick<Device, "capacity">,
): CapacityUse | undefined {
  if (Object.keys(requested).some((name) => !Object.hasOwn(capacity, name))) return undefined;
  const use = new Map<string, Quantity>();
  for (const [name, offered] of Object.entries(capacity)) {
    const amount = consumedOf(requested[name], offered);
    if (violates(amount, offered.requestPolicy)) return undefined;
    use.set(name, amount);
  }
  return use;
}

/** Whether all of these fit into the device together. */
export function fitsCapacity(
  { capacity = {} }: Pick<Device, "capacity">,
  uses: readonly (CapacityUse | undefined)[],
): boolean {
  return Object.entries(capacity).every(([name, { value }]) => {
    let sum = ZERO_QUANTITY;
    for (const use of uses) sum = addQuantities(sum, use?.get(name) ?? ZERO_QUANTITY);
    return compareQuantities(sum, quantityOf(value)) <= 0;
  });
}

/** What several allocations consume of each device. */
export class ConsumedCapacities {
  readonly #byDevice = new Map<string, { shares: number; use: Map<string, Quantity> }>();

  /** Undefined if the device has no shares. */
  get(device: string): CapacityUse | undefined {
    return this.#byDevice.get(device)?.use;
  }

  add(device: string, use: CapacityUse): void {
    let known = this.#byDevice.get(device);
    if (known === undefined) {
      known = { shares: 0, use: new Map() };
      this.#byDevice.set(device, known);
    }
    known.shares += 1;
    for (const [name, amount] of use) {
      known.use.set(name, addQuantities(known.use.get(name) ?? ZERO_QUANTITY, amount));
    }
  }

  remove(device: string, use: CapacityUse): void {
    const known = this.#byDevice.get(device);
    if (known === undefined) return;
    known.shares -= 1;
    for (const [name, amount] of use) {
      known.use.set(name, subtractQuantities(known.use.get(name) ?? ZERO_QUANTITY, amount));
    }
    if (known.shares <= 0) this.#byDevice.delete(device);
  }
}

function consumedOf(requested: string | undefined, { value, requestPolicy }: DeviceCapacity) {
  if (requested === undefined) return quantityOf(requestPolicy?.default ?? value);
  const amount = quantityOf(requested);
  const { validRange, validValues } = requestPolicy ?? {};
  if (validRange?.min !== undefined) return roundedUp(amount, validRange.min, validRange.step);
  const next = validValues?.find((one) => compareQuantities(amount, quantityOf(one)) <= 0);
  return next === undefined ? amount : quantityOf(next);
}

function roundedUp(amount: Quantity, min: string, step: string | undefined): Quantity {
  const least = quantityOf(min);
  if (compareQuantities(amount, least) < 0) return least;
  if (step === undefined) return amount;
  const [base, width] = [quantityValue(least), quantityValue(quantityOf(step))];
  const steps = Math.ceil((quantityValue(amount) - base) / width);
  return quantityFrom(base + width * steps, "BinarySI");
}

function violates(amount: Quantity, policy: CapacityRequestPolicy | undefined): boolean {
  if (policy === undefined) return false;
  const { default: usual, validRange, validValues = [] } = policy;
  if (usual !== null && compareQuantities(amount, quantityOf(usual)) === 0) return false;
  if (validRange !== undefined) return isOutside(amount, validRange);
  if (validValues.length === 0) return false;
  return !validValues.some((one) => compareQuantities(amount, quantityOf(one)) === 0);
}

function isOutside(amount: Quantity, { min, max, step }: CapacityRequestPolicyRange): boolean {
  if (max !== undefined && compareQuantities(amount, quantityOf(max)) > 0) return true;
  if (step === undefined) return false;
  const base = min === undefined ? 0 : quantityValue(quantityOf(min));
  return (quantityValue(amount) - base) % quantityValue(quantityOf(step)) !== 0;
}
