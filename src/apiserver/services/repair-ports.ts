/** Which node ports ought to be taken, given the Services that there are. Pure. */
import type { Service } from "#api/generated/core.v1.ts";
import type { PortRange } from "./port-allocator.ts";
import type { Complaint } from "./repair-addresses.ts";

export interface PortRepair {
  readonly taken: ReadonlySet<number>;
  /** Ports that no Service uses any more, with the number of rounds that they are still kept. */
  readonly leaks: ReadonlyMap<number, number>;
  readonly complaints: readonly Complaint[];
}

/** A Service may be about to be written: what seems leaked is kept for so many rounds. */
const ROUNDS_KEPT = 3;

export function decidePortRepair(
  services: readonly Service[],
  stored: ReadonlySet<number>,
  leaked: ReadonlyMap<number, number>,
  range: PortRange,
): PortRepair {
  const taken = new Set<number>();
  const complaints: Complaint[] = [];
  for (const service of services) {
    const complain = (reason: string, note: string): void =>
      void complaints.push({ about: service, reason, action: "PortAllocation", note });
    for (const port of usedPorts(service)) {
      if (port < range.first || port > range.last) {
        const within = `${range.first}-${range.last}`;
        const note = `Port ${port} is not within the port range ${within}; please recreate service`;
        complain("PortOutOfRange", note);
      } else if (taken.has(port)) {
        const note = `Port ${port} was assigned to multiple services; please recreate service`;
        complain("PortAlreadyAllocated", note);
      } else {
        taken.add(port);
        if (!stored.has(port)) {
          complain("PortNotAllocated", `Port ${port} is not allocated; repairing`);
        }
      }
    }
  }
  const leaks = new Map<number, number>();
  for (const port of stored) {
    if (taken.has(port)) continue;
    const rounds = leaked.get(port) ?? ROUNDS_KEPT;
    if (rounds === 0) continue;
    leaks.set(port, rounds - 1);
  }
  for (const port of leaks.keys()) taken.add(port);
  return { taken, leaks, complaints };
}

/** One port for several protocols is one port; twice for the same is a mistake. */
function usedPorts({ spec }: Service): number[] {
  const used: number[] = [];
  const protocols = new Map<number, Set<string>>();
  for (const { nodePort, protocol = "TCP" } of spec.ports ?? []) {
    if (!nodePort) continue;
    const known = protocols.get(nodePort);
    if (known === undefined || known.has(protocol)) used.push(nodePort);
    protocols.set(nodePort, (known ?? new Set()).add(protocol));
  }
  const health = spec.healthCheckNodePort ?? 0;
  return health === 0 ? used : [...used, health];
}
