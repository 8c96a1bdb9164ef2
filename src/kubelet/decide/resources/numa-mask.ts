/** Sets of NUMA nodes as bit masks. */

export type NumaMask = bigint;

/** Node ids that a mask can hold; others are ignored. */
const NODES_MAX = 64;

export function numaMask(nodes: Iterable<number>): NumaMask {
  let mask = 0n;
  for (const node of nodes) if (node >= 0 && node < NODES_MAX) mask |= 1n << BigInt(node);
  return mask;
}

export function nodesOf(mask: NumaMask): readonly number[] {
  const nodes: number[] = [];
  for (let node = 0; node < NODES_MAX; node++) if (hasNode(mask, node)) nodes.push(node);
  return nodes;
}

export function hasNode(mask: NumaMask, node: number): boolean {
  return node >= 0 && node < NODES_MAX && (mask & (1n << BigInt(node))) !== 0n;
}

export function sizeOf(mask: NumaMask): number {
  let size = 0;
  for (let rest = mask; rest !== 0n; rest &= rest - 1n) size++;
  return size;
}

/** All combinations of the nodes, the small ones first. */
export function masksOf(nodes: readonly number[]): readonly NumaMask[] {
  let masks: NumaMask[] = [0n];
  for (const node of nodes) masks = [...masks, ...masks.map((mask) => mask | numaMask([node]))];
  const orderOf = (mask: NumaMask): string =>
    nodesOf(mask)
      .map((node) => String.fromCharCode(node))
      .join("");
  return masks
    .filter((mask) => mask !== 0n)
    .sort((a, b) => sizeOf(a) - sizeOf(b) || (orderOf(a) < orderOf(b) ? -1 : 1));
}
