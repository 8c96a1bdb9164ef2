/** Sets of completion indexes and their text in a status: `0,2-5,7`. */

export type IndexSet = ReadonlySet<number>;

/** Indexes below the number of completions; parts that cannot be read are passed over. */
export function readIndexes(text: string | undefined, completions: number): IndexSet {
  const indexes = new Set<number>();
  for (const part of (text ?? "").split(",")) {
    const match = /^(\d+)(?:-(\d+))?$/.exec(part);
    if (match === null) continue;
    const last = Math.min(Number(match[2] ?? match[1]), completions - 1);
    for (let index = Number(match[1]); index <= last; index++) indexes.add(index);
  }
  return indexes;
}

/** Three or more in a row are a range. */
export function formatIndexes(indexes: IndexSet): string {
  const sorted = [...indexes].sort((a, b) => a - b);
  const parts: string[] = [];
  for (let i = 0; i < sorted.length; ) {
    const first = sorted[i]!;
    let last = first;
    while (sorted[++i] === last + 1) last++;
    if (last === first) parts.push(`${first}`);
    else parts.push(last === first + 1 ? `${first},${last}` : `${first}-${last}`);
  }
  return parts.join(",");
}
