/** Ranges of whole numbers, ends included, in order and without overlaps: nftables takes no others. */
export function mergeRanges(
  ranges: readonly (readonly [from: number, to: number])[],
): readonly (readonly [from: number, to: number])[] {
  const merged: [number, number][] = [];
  for (const [from, to] of [...ranges].sort(([a], [b]) => a - b)) {
    const last = merged.at(-1);
    if (last !== undefined && from <= last[1] + 1) last[1] = Math.max(last[1], to);
    else merged.push([from, to]);
  }
  return merged;
}
