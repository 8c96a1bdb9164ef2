/**
 * Picks CPUs for exclusive use and spreads them evenly over NUMA nodes where one node is not enough
 * (distribute-cpus-across-numa). Tries one NUMA node, then pairs, then triples …; a combination fits
 * if each of its nodes can give an equal share, in groups of `groupSize`. Of several that fit the one
 * counts that leaves free CPUs most evenly distributed. Where none fits, CPUs are packed.
 */
import { type CpuSet, difference, union } from "./cpu-set.ts";
import { type CpuTopology, cpusIn, groupsOf, keepOnly } from "./cpu-topology.ts";
import { notEnoughCpus, sortedNumaNodes, takeCpus } from "./take-cpus.ts";

export function distributeCpus(
  topology: CpuTopology,
  available: CpuSet,
  count: number,
  groupSize: number,
): CpuSet {
  if (count % groupSize !== 0) return takeCpus(topology, available, count);
  if (count < 1) return [];
  if (count > available.length) throw notEnoughCpus(count, available);
  const free = keepOnly(topology.cpus, available);
  const freeOn = new Map(
    sortedNumaNodes(topology, free).map((node) => [node, cpusIn(free, "numaNode", node).length]),
  );
  const best = bestDistribution(topology, freeOn, count, groupSize);
  if (best === undefined) return takeCpus(topology, available, count);
  let taken: CpuSet = [];
  const takeFrom = (node: number, amount: number): void => {
    const left = difference(cpusIn(free, "numaNode", node), taken);
    taken = union(taken, takeCpus(topology, left, amount));
  };
  for (const [node, amount] of best) takeFrom(node, amount);
  return taken;
}

/** How many CPUs each NUMA node gives. */
type Shares = ReadonlyMap<number, number>;

function bestDistribution(
  { cpus }: CpuTopology,
  freeOn: Shares,
  count: number,
  groupSize: number,
): Shares | undefined {
  const nodes = [...freeOn.keys()];
  const groups = Math.ceil(cpus.length / groupSize);
  const groupsPerNode = Math.ceil(groups / groupsOf(cpus, "numaNode").length);
  const needed = Math.ceil(count / groupSize);
  const most = Math.min(needed, nodes.length);
  for (let size = Math.ceil(needed / groupsPerNode); size <= most; size++) {
    let best: { readonly shares: Shares; readonly balance: number } | undefined;
    for (const combination of combinations(nodes, size)) {
      if (best?.balance === 0) break;
      const found = sharesOf(combination, freeOn, count, groupSize);
      if (found !== undefined && found.balance < (best?.balance ?? Number.POSITIVE_INFINITY)) {
        best = found;
      }
    }
    if (best !== undefined) return best.shares;
  }
  return undefined;
}

function sharesOf(
  nodes: readonly number[],
  freeOn: Shares,
  count: number,
  groupSize: number,
): { readonly shares: Shares; readonly balance: number } | undefined {
  const freeOf = (node: number): number => freeOn.get(node) ?? 0;
  const groups = nodes.reduce((sum, node) => sum + Math.floor(freeOf(node) / groupSize), 0);
  if (groups * groupSize < count) return undefined;
  const each = Math.floor(count / nodes.length / groupSize) * groupSize;
  if (nodes.some((node) => freeOf(node) < each)) return undefined;
  const even = new Map(nodes.map((node) => [node, each]));
  const rest = count - each * nodes.length;
  const balanceOf = (shares: Shares): number =>
    standardDeviation([...freeOn].map(([node, free]) => free - (shares.get(node) ?? 0)));
  if (rest === 0) return { shares: even, balance: balanceOf(even) };
  const canGiveMore = nodes.filter((node) => freeOf(node) - each >= groupSize);
  let best: { readonly shares: Shares; readonly balance: number } | undefined;
  for (let size = canGiveMore.length; size >= 1; size--) {
    for (const subset of combinations(canGiveMore, size)) {
      const shares = withRest(even, subset, rest, freeOf, groupSize);
      if (shares === undefined) continue;
      const balance = balanceOf(shares);
      if (balance < (best?.balance ?? Number.POSITIVE_INFINITY)) best = { shares, balance };
    }
  }
  return best;
}

/** The rest is dealt out over the nodes in turn, one group at a time. */
function withRest(
  even: Shares,
  nodes: readonly number[],
  rest: number,
  freeOf: (node: number) => number,
  groupSize: number,
): Shares | undefined {
  const shares = new Map(even);
  const left = (node: number): number => freeOf(node) - (shares.get(node) ?? 0);
  if (nodes.reduce((sum, node) => sum + left(node), 0) < rest) return undefined;
  let missing = rest;
  while (missing > 0) {
    const before = missing;
    for (const node of nodes) {
      if (missing === 0) break;
      if (left(node) < groupSize) continue;
      shares.set(node, (shares.get(node) ?? 0) + groupSize);
      missing -= groupSize;
    }
    if (missing === before) return undefined;
  }
  return shares;
}

function* combinations(
  items: readonly number[],
  size: number,
  start = 0,
): Generator<readonly number[]> {
  if (size === 0) {
    yield [];
    return;
  }
  for (let index = start; index <= items.length - size; index++) {
    for (const rest of combinations(items, size - 1, index + 1)) yield [items[index]!, ...rest];
  }
}

function standardDeviation(values: readonly number[]): number {
  const mean = round(values.reduce((sum, one) => sum + one, 0) / values.length);
  const squares = values.reduce((sum, one) => sum + (one - mean) ** 2, 0);
  return round(Math.sqrt(squares / values.length));
}

function round(value: number): number {
  return Math.round(value * 1000) / 1000;
}
