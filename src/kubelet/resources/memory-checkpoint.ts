/** The text of `memory_manager_state`, as upstream writes and reads it (its first format). Pure. */
import type {
  MachineMemoryState,
  MemoryBlock,
  MemoryState,
  MemoryTable,
} from "#kubelet/decide/resources/memory-state.ts";
import { dumpChecksum } from "#kubelet/resize/data-checksum.ts";

interface StoredNode {
  readonly numberOfAssignments: number;
  readonly memoryMap: Readonly<Record<string, MemoryTable>>;
  readonly cells: readonly number[];
}

interface Stored {
  readonly policyName: string;
  readonly machineState: Readonly<Record<string, StoredNode>>;
  readonly entries?: Readonly<Record<string, Readonly<Record<string, readonly MemoryBlock[]>>>>;
  readonly checksum?: number;
}

export function memoryCheckpointText(policyName: string, state: MemoryState): string {
  const { machine, assigned } = state;
  const stored: Stored = {
    policyName,
    machineState: Object.fromEntries(
      [...machine].map(([node, { assignments, memory, cells }]) => [
        node,
        {
          numberOfAssignments: assignments,
          memoryMap: Object.fromEntries(
            sorted(memory).map(([type, table]) => [
              type,
              {
                total: table.total,
                systemReserved: table.systemReserved,
                allocatable: table.allocatable,
                reserved: table.reserved,
                free: table.free,
              },
            ]),
          ),
          cells,
        },
      ]),
    ),
    ...(assigned.size === 0
      ? {}
      : {
          entries: Object.fromEntries(
            sorted(assigned).map(([uid, containers]) => [
              uid,
              Object.fromEntries(sorted(containers)),
            ]),
          ),
        }),
  };
  return JSON.stringify({ ...stored, checksum: checksumOf(stored) });
}

/** Throws when it is damaged or of another policy. */
export function parseMemoryCheckpoint(policyName: string, text: string): MemoryState {
  const stored = JSON.parse(text) as Stored;
  const { checksum = 0 } = stored;
  if (checksum !== 0 && checksum !== checksumOf(stored)) throw new Error("checkpoint is corrupted");
  if (stored.policyName !== policyName) {
    throw new Error(
      `[memorymanager] configured policy ${JSON.stringify(policyName)} differs from state checkpoint policy ${JSON.stringify(stored.policyName)}`,
    );
  }
  const machine: MachineMemoryState = new Map(
    Object.entries(stored.machineState ?? {}).map(([node, one]) => [
      Number(node),
      {
        assignments: one.numberOfAssignments,
        memory: new Map(Object.entries(one.memoryMap)),
        cells: one.cells,
      },
    ]),
  );
  const assigned = Object.entries(stored.entries ?? {}).map(
    ([uid, containers]) => [uid, new Map(Object.entries(containers))] as const,
  );
  return { machine, assigned: new Map(assigned) };
}

function checksumOf({ policyName, machineState = {}, entries = {} }: Stored): number {
  const numbers = (list: readonly number[]): string => `([]int)[${list.join(" ")}]`;
  const nodes = Object.entries(machineState)
    .sort(([a], [b]) => Number(a) - Number(b))
    .map(([node, { numberOfAssignments, memoryMap, cells }]) => {
      const tables = Object.entries(memoryMap)
        .sort(byName)
        .map(
          ([type, one]) =>
            `${type}:<*>{TotalMemSize:(uint64)${one.total} SystemReserved:(uint64)${one.systemReserved} Allocatable:(uint64)${one.allocatable} Reserved:(uint64)${one.reserved} Free:(uint64)${one.free}}`,
        );
      return `${node}:<*>{NumberOfAssignments:(int)${numberOfAssignments} MemoryMap:(map[v1.ResourceName]*state.MemoryTable)map[${tables.join(" ")}] Cells:${numbers(cells)}}`;
    });
  const pods = Object.entries(entries)
    .sort(byName)
    .map(([uid, containers]) => {
      const blocks = Object.entries(containers)
        .sort(byName)
        .map(([name, list]) => `${name}:[${list.map((one) => blockText(one, numbers)).join(" ")}]`);
      return `${uid}:map[${blocks.join(" ")}]`;
    });
  return dumpChecksum(
    `(*state.MemoryManagerCheckpoint){PolicyName:(string)${policyName} MachineState:(state.NUMANodeMap)map[${nodes.join(" ")}] Entries:(state.ContainerMemoryAssignments)map[${pods.join(" ")}] Checksum:(checksum.Checksum)0}`,
  );
}

function blockText(
  { numaAffinity, type, size }: MemoryBlock,
  numbers: (list: readonly number[]) => string,
): string {
  return `{NUMAAffinity:${numbers(numaAffinity)} Type:(v1.ResourceName)${type} Size:(uint64)${size}}`;
}

function sorted<T>(map: ReadonlyMap<string, T>): [string, T][] {
  return [...map].sort(byName);
}

function byName([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
