/** The class of a pod when resources get scarce: what it asked for decides who has to go first. */
import type { PodSpec, ResourceList } from "#api/generated/core.v1.ts";
import {
  addQuantities,
  compareQuantities,
  type Quantity,
  quantityOf,
  quantitySign,
} from "#api/meta/quantity.ts";

export type QosClass = "Guaranteed" | "Burstable" | "BestEffort";

const COMPUTE = ["cpu", "memory"];

/** Guaranteed: every container has limits for cpu and memory, and requests as much. */
export function qosClassOf(spec: PodSpec): QosClass {
  const requests = new Map<string, Quantity>();
  const limits = new Map<string, Quantity>();
  let limited = true;
  if (spec.resources !== undefined) {
    add(requests, spec.resources.requests);
    const isLimited = add(limits, spec.resources.limits) === COMPUTE.length;
    if (Object.keys(spec.resources.limits ?? {}).length > 0) limited = isLimited;
  } else {
    for (const { resources } of [...(spec.containers ?? []), ...(spec.initContainers ?? [])]) {
      add(requests, resources.requests);
      if (add(limits, resources.limits) < COMPUTE.length) limited = false;
    }
  }
  if (requests.size === 0 && limits.size === 0) return "BestEffort";
  const equal = [...requests].every(([name, amount]) => {
    const limit = limits.get(name);
    return limit !== undefined && compareQuantities(limit, amount) === 0;
  });
  return limited && equal && requests.size === limits.size ? "Guaranteed" : "Burstable";
}

/** How many of the resources that count are given, and not as nothing. */
function add(total: Map<string, Quantity>, list: ResourceList | undefined): number {
  if (list === undefined) return 0;
  let count = 0;
  for (const name of COMPUTE) {
    const text = list[name];
    if (text === undefined) continue;
    const amount = quantityOf(text);
    if (quantitySign(amount) <= 0) continue;
    count++;
    const known = total.get(name);
    total.set(name, known === undefined ? amount : addQuantities(known, amount));
  }
  return count;
}
