/** reservedMemory of KubeletConfiguration: what the memory manager keeps back on each NUMA node. Pure. */
import { goQuote } from "#api/meta/go-quote.ts";
import { addQuantities, formatQuantity, quantityOf, quantityValue } from "#api/meta/quantity.ts";
import type { ReservedMemory } from "./memory-state.ts";

export interface MemoryReservation {
  readonly numaNode: number;
  readonly limits: Readonly<Record<string, string>>;
}

/** What is wrong with the list itself. */
export function checkReservations(reservations: readonly MemoryReservation[]): string[] {
  const problems: string[] = [];
  const seen = new Set<string>();
  for (const { numaNode, limits = {} } of reservations) {
    for (const [name, amount] of Object.entries(limits)) {
      if (!isMemory(name)) {
        problems.push(
          `the limit type ${goQuote(name)} for NUMA node ${numaNode} is not supported, only [memory hugepages-<HugePageSize>] is accepted`,
        );
      }
      if (quantityValue(quantityOf(amount)) === 0) {
        problems.push(
          `reserved memory may not be zero for NUMA node ${numaNode} and resource ${goQuote(name)}`,
        );
      }
      const key = `${numaNode} ${name}`;
      if (seen.has(key)) {
        problems.push(
          `the reserved memory has a duplicate value for NUMA node ${numaNode} and resource ${goQuote(name)}`,
        );
      }
      seen.add(key);
    }
  }
  return problems;
}

/**
 * `reserved`: what the node keeps back as a whole (system, kube and eviction threshold); the sums
 * must agree. Throws with upstream's message.
 */
export function reservedMemory(
  nodes: readonly number[],
  reservations: readonly MemoryReservation[],
  reserved: Readonly<Record<string, string>>,
): ReservedMemory {
  const totals = new Map<string, string>();
  const byNode = new Map(nodes.map((node) => [node, new Map<string, number>()]));
  for (const { numaNode, limits = {} } of reservations) {
    const own = byNode.get(numaNode);
    if (own === undefined) {
      throw new Error(
        `the reserved memory configuration references a NUMA node ${numaNode} that does not exist on this machine`,
      );
    }
    for (const [name, amount] of Object.entries(limits)) {
      own.set(name, quantityValue(quantityOf(amount)));
      const sum = addQuantities(quantityOf(totals.get(name) ?? "0"), quantityOf(amount));
      totals.set(name, formatQuantity(sum));
    }
  }
  const names = new Set([...totals.keys(), ...Object.keys(reserved).filter(isMemory)]);
  for (const name of names) {
    const [total, kept] = [totals.get(name) ?? "0", reserved[name] ?? "0"];
    if (quantityValue(quantityOf(total)) === quantityValue(quantityOf(kept))) continue;
    throw new Error(
      `the total amount ${goQuote(total)} of type ${goQuote(name)} is not equal to the value ${goQuote(formatQuantity(quantityOf(kept)))} determined by Node Allocatable feature`,
    );
  }
  const memory = [...byNode.values()].reduce((sum, one) => sum + (one.get("memory") ?? 0), 0);
  if (memory === 0) {
    throw new Error("[memorymanager] you should specify the system reserved memory");
  }
  return byNode;
}

function isMemory(name: string): boolean {
  return name === "memory" || name.startsWith("hugepages-");
}
