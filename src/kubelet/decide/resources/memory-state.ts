/** What the memory manager knows: the memory of each NUMA node, and which container has what of it. */

export interface MemoryTable {
  readonly total: number;
  readonly systemReserved: number;
  readonly allocatable: number;
  readonly reserved: number;
  readonly free: number;
}

export interface NumaMemory {
  readonly assignments: number;
  /** By resource: `memory` and `hugepages-…`. */
  readonly memory: ReadonlyMap<string, MemoryTable>;
  /** The node itself and those that containers use together with it. */
  readonly cells: readonly number[];
}

export type MachineMemoryState = ReadonlyMap<number, NumaMemory>;

export interface MemoryBlock {
  readonly numaAffinity: readonly number[];
  readonly type: string;
  readonly size: number;
}

export interface MemoryState {
  readonly machine: MachineMemoryState;
  /** By pod uid and container. */
  readonly assigned: ReadonlyMap<string, ReadonlyMap<string, readonly MemoryBlock[]>>;
}

export const NO_MEMORY: MemoryState = { machine: new Map(), assigned: new Map() };

export interface NumaNodeMemory {
  readonly id: number;
  readonly memoryBytes: number;
  /** By resource name: bytes in pages of that size. */
  readonly hugePages: Readonly<Record<string, number>>;
}

/** Bytes by NUMA node and resource. */
export type ReservedMemory = ReadonlyMap<number, ReadonlyMap<string, number>>;

export function initialMemory(
  nodes: readonly NumaNodeMemory[],
  reserved: ReservedMemory,
): MachineMemoryState {
  return new Map(
    nodes.map(({ id, memoryBytes, hugePages }) => {
      const tableOf = (type: string, total: number, less: number): MemoryTable => {
        const systemReserved = reserved.get(id)?.get(type) ?? 0;
        const allocatable = Math.max(0, total - systemReserved - less);
        return { total, systemReserved, allocatable, reserved: 0, free: allocatable };
      };
      const inPages = Object.values(hugePages).reduce((sum, bytes) => sum + bytes, 0);
      const memory = new Map([
        ...Object.entries(hugePages).map(
          ([type, bytes]) => [type, tableOf(type, bytes, 0)] as const,
        ),
        ["memory", tableOf("memory", memoryBytes, inPages)] as const,
      ]);
      return [id, { assignments: 0, memory, cells: [id] }];
    }),
  );
}

/** Takes a block from its nodes, in the order of the nodes. */
export function charged(machine: MachineMemoryState, block: MemoryBlock): MachineMemoryState {
  const next = new Map(machine);
  let left = block.size;
  for (const node of block.numaAffinity) {
    const state = next.get(node);
    if (state === undefined) continue;
    const table = state.memory.get(block.type);
    const taken = Math.min(left, table?.free ?? 0);
    left -= taken;
    next.set(node, {
      assignments: state.assignments + 1,
      cells: block.numaAffinity,
      memory: withTaken(state, block.type, taken),
    });
  }
  return next;
}

export function released(machine: MachineMemoryState, block: MemoryBlock): MachineMemoryState {
  const next = new Map(machine);
  let left = block.size;
  for (const node of block.numaAffinity) {
    const state = next.get(node);
    if (state === undefined) continue;
    const given = Math.min(left, state.memory.get(block.type)?.reserved ?? 0);
    left -= given;
    const assignments = state.assignments - 1;
    next.set(node, {
      assignments,
      cells: assignments === 0 ? [node] : state.cells,
      memory: withTaken(state, block.type, -given),
    });
  }
  return next;
}

/** Checks what was read from the disk against the machine; an empty state becomes the initial one. */
export function checkMemoryState(
  { machine, assigned }: MemoryState,
  initial: MachineMemoryState,
): MemoryState {
  if (machine.size === 0) {
    if (assigned.size > 0) {
      throw new Error(
        "[memorymanager] machine state can not be empty when it has memory assignments",
      );
    }
    return { machine: initial, assigned };
  }
  let expected = initial;
  for (const [pod, containers] of assigned) {
    for (const [container, blocks] of containers) {
      for (const block of blocks) {
        const where = `[memorymanager] (pod: ${pod}, container: ${container}) the memory assignment uses`;
        const nodes = block.numaAffinity.map((node) => initial.get(node));
        if (nodes.includes(undefined)) throw new Error(`${where} the NUMA that does not exist`);
        if (nodes.some((node) => !node?.memory.has(block.type))) {
          throw new Error(`${where} memory resource that does not exist`);
        }
        expected = charged(expected, block);
      }
    }
  }
  if (!isSameMachine(machine, expected)) {
    throw new Error("[memorymanager] the expected machine state is different from the real one");
  }
  return { machine, assigned };
}

function withTaken(
  { memory }: NumaMemory,
  type: string,
  bytes: number,
): ReadonlyMap<string, MemoryTable> {
  const table = memory.get(type);
  if (table === undefined || bytes === 0) return memory;
  const [reserved, free] = [table.reserved + bytes, table.free - bytes];
  return new Map(memory).set(type, { ...table, reserved, free });
}

/** Within a group of nodes only the sums must agree: which node gave what depends on the order. */
function isSameMachine(a: MachineMemoryState, b: MachineMemoryState): boolean {
  if (a.size !== b.size) return false;
  return [...a].every(([node, one]) => {
    const other = b.get(node);
    if (other === undefined || one.memory.size !== other.memory.size) return false;
    if (one.assignments !== other.assignments) return false;
    if (sorted(one.cells) !== sorted(other.cells)) return false;
    return [...one.memory].every(([type, table]) => {
      const same = other.memory.get(type);
      const sum = (machine: MachineMemoryState, field: "free" | "reserved"): number =>
        one.cells.reduce(
          (total, id) => total + (machine.get(id)?.memory.get(type)?.[field] ?? 0),
          0,
        );
      return (
        same !== undefined &&
        table.total === same.total &&
        table.systemReserved === same.systemReserved &&
        table.allocatable === same.allocatable &&
        sum(a, "free") === sum(b, "free") &&
        sum(a, "reserved") === sum(b, "reserved")
      );
    });
  });
}

function sorted(nodes: readonly number[]): string {
  return [...nodes].sort((a, b) => a - b).join();
}
