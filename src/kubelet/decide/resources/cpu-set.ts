/** Sets of CPUs: sorted ids without duplicates, and the kernel's list format (`0-3,8`). */

export type CpuSet = readonly number[];

/** A range may name this many CPUs; a larger one is a mistake. */
const RANGE_MAX = 100_000;

export function cpuSet(ids: Iterable<number>): CpuSet {
  return [...new Set(ids)].sort((a, b) => a - b);
}

export function union(...sets: readonly CpuSet[]): CpuSet {
  return cpuSet(sets.flat());
}

export function difference(set: CpuSet, without: CpuSet): CpuSet {
  const removed = new Set(without);
  return set.filter((id) => !removed.has(id));
}

export function intersection(a: CpuSet, b: CpuSet): CpuSet {
  const other = new Set(b);
  return a.filter((id) => other.has(id));
}

export function isSameSet(a: CpuSet, b: CpuSet): boolean {
  return a.length === b.length && a.every((id, index) => id === b[index]);
}

/** Throws on anything that the kernel's list format does not allow. */
export function parseCpuSet(text: string): CpuSet {
  if (text === "") return [];
  const ids: number[] = [];
  for (const part of text.split(",")) {
    const [from = "", to = from, ...more] = part.split("-");
    const [start, end] = [wholeNumber(from), wholeNumber(to)];
    if (more.length > 0 || start > end || end - start >= RANGE_MAX) {
      throw new Error(`invalid range ${JSON.stringify(part)} (${start} > ${end})`);
    }
    for (let id = start; id <= end; id++) ids.push(id);
  }
  return cpuSet(ids);
}

export function formatCpuSet(set: CpuSet): string {
  const ranges: [number, number][] = [];
  for (const id of set) {
    const last = ranges.at(-1);
    if (last !== undefined && last[1] === id - 1) last[1] = id;
    else ranges.push([id, id]);
  }
  return ranges.map(([from, to]) => (from === to ? String(from) : `${from}-${to}`)).join(",");
}

function wholeNumber(text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new Error(`strconv.Atoi: parsing ${JSON.stringify(text)}: invalid syntax`);
}
