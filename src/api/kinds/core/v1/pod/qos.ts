/** The class of a pod when resources get scarce: what it asked for decides who has to go first. */
import type { Container, PodSpec, ResourceList } from "#api/generated/core.v1.ts";
import {
  addQuantities,
  compareQuantities,
  type Quantity,
  quantityOf,
  quantitySign,
} from "#api/meta/quantity.ts";

export type QosClass = "Guaranteed" | "Burstable" | "BestEffort";

const COMPUTE = ["cpu", "memory"];
/** Of each of them, as far as it was given and is not nothing. */
type Amounts = (Quantity | undefined)[];

/** Guaranteed: every container has limits for cpu and memory, and requests as much. */
export function qosClassOf(spec: PodSpec): QosClass {
  const requests: Amounts = [undefined, undefined];
  const limits: Amounts = [undefined, undefined];
  let limited = true;
  const addContainer = ({ resources }: Container): void => {
    add(requests, resources.requests);
    if (add(limits, resources.limits) < COMPUTE.length) limited = false;
  };
  if (spec.resources !== undefined) {
    add(requests, spec.resources.requests);
    const isLimited = add(limits, spec.resources.limits) === COMPUTE.length;
    if (Object.keys(spec.resources.limits ?? {}).length > 0) limited = isLimited;
  } else {
    spec.containers?.forEach(addContainer);
    spec.initContainers?.forEach(addContainer);
  }
  if (requests.every(isNothing) && limits.every(isNothing)) return "BestEffort";
  const equal = requests.every((amount, i) => isEqual(amount, limits[i]));
  return limited && equal ? "Guaranteed" : "Burstable";
}

/** How many of the resources that count are given, and not as nothing. */
function add(total: Amounts, list: ResourceList | undefined): number {
  if (list === undefined) return 0;
  let count = 0;
  for (const [i, name] of COMPUTE.entries()) {
    const text = list[name];
    if (text === undefined) continue;
    const amount = quantityOf(text);
    if (quantitySign(amount) <= 0) continue;
    count++;
    const known = total[i];
    total[i] = known === undefined ? amount : addQuantities(known, amount);
  }
  return count;
}

function isNothing(amount: Quantity | undefined): boolean {
  return amount === undefined;
}

function isEqual(a: Quantity | undefined, b: Quantity | undefined): boolean {
  return a === undefined || b === undefined ? a === b : compareQuantities(a, b) === 0;
}
