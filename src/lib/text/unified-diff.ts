/**
 * The difference of two texts in unified form, three lines of context, without file headers.
 *
 * Lines are matched as in Python's difflib: the longest run of equal lines first, then the same to
 * the left and to the right of it. In texts of 200 lines or more, lines that make up over one per
 * cent of the second text are too common to start a match; they only extend one.
 */
export function unifiedDiff(before: string, after: string): string {
  const a = splitLines(before);
  const b = splitLines(after);
  const out: string[] = [];
  for (const group of groupEdits(edits(a, b))) {
    const first = group[0]!;
    const last = group.at(-1)!;
    const removed = rangeText(first.aStart, last.aEnd);
    const added = rangeText(first.bStart, last.bEnd);
    out.push(`@@ -${removed} +${added} @@\n`);
    for (const edit of group) {
      if (edit.tag === "equal") {
        for (const line of a.slice(edit.aStart, edit.aEnd)) out.push(` ${line}`);
        continue;
      }
      for (const line of a.slice(edit.aStart, edit.aEnd)) out.push(`-${line}`);
      for (const line of b.slice(edit.bStart, edit.bEnd)) out.push(`+${line}`);
    }
  }
  return out.join("");
}

const CONTEXT_LINES = 3;
const POPULAR_FROM_LINES = 200;

interface Match {
  readonly aStart: number;
  readonly bStart: number;
  readonly size: number;
}

interface Edit {
  readonly tag: "equal" | "change";
  readonly aStart: number;
  readonly aEnd: number;
  readonly bStart: number;
  readonly bEnd: number;
}

/** Every line with its end, the last one too: a text without a final newline gets one. */
function splitLines(text: string): string[] {
  return text.split("\n").map((line) => `${line}\n`);
}

function edits(a: readonly string[], b: readonly string[]): Edit[] {
  const result: Edit[] = [];
  let aPosition = 0;
  let bPosition = 0;
  for (const { aStart, bStart, size } of [
    ...matches(a, b),
    { aStart: a.length, bStart: b.length, size: 0 },
  ]) {
    if (aPosition < aStart || bPosition < bStart) {
      result.push(edit("change", aPosition, aStart, bPosition, bStart));
    }
    aPosition = aStart + size;
    bPosition = bStart + size;
    if (size > 0) result.push(edit("equal", aStart, aPosition, bStart, bPosition));
  }
  return result;
}

function edit(tag: Edit["tag"], aStart: number, aEnd: number, bStart: number, bEnd: number): Edit {
  return { tag, aStart, aEnd, bStart, bEnd };
}

/** The blocks of equal lines, in order; neighbouring blocks are joined. */
function matches(a: readonly string[], b: readonly string[]): Match[] {
  const index = indexLines(b);
  const found: Match[] = [];
  const spans = [{ aLow: 0, aHigh: a.length, bLow: 0, bHigh: b.length }];
  for (let span = spans.pop(); span !== undefined; span = spans.pop()) {
    const { aLow, aHigh, bLow, bHigh } = span;
    const match = longestMatch(a, b, index, span);
    if (match.size === 0) continue;
    found.push(match);
    spans.push({ aLow, aHigh: match.aStart, bLow, bHigh: match.bStart });
    spans.push({ aLow: match.aStart + match.size, aHigh, bLow: match.bStart + match.size, bHigh });
  }
  found.sort((x, y) => x.aStart - y.aStart || x.bStart - y.bStart);
  return joinAdjacent(found);
}

function joinAdjacent(found: readonly Match[]): Match[] {
  const joined: Match[] = [];
  for (const match of found) {
    const previous = joined.at(-1);
    if (
      previous !== undefined &&
      previous.aStart + previous.size === match.aStart &&
      previous.bStart + previous.size === match.bStart
    ) {
      joined[joined.length - 1] = { ...previous, size: previous.size + match.size };
    } else joined.push(match);
  }
  return joined;
}

/** Where each line of `b` occurs, leaving out the lines that are too common to start a match. */
function indexLines(b: readonly string[]): ReadonlyMap<string, readonly number[]> {
  const index = new Map<string, number[]>();
  b.forEach((line, position) => {
    const positions = index.get(line);
    if (positions === undefined) index.set(line, [position]);
    else positions.push(position);
  });
  if (b.length >= POPULAR_FROM_LINES) {
    const most = Math.floor(b.length / 100) + 1;
    for (const [line, positions] of index) if (positions.length > most) index.delete(line);
  }
  return index;
}

interface Span {
  readonly aLow: number;
  readonly aHigh: number;
  readonly bLow: number;
  readonly bHigh: number;
}

function longestMatch(
  a: readonly string[],
  b: readonly string[],
  index: ReadonlyMap<string, readonly number[]>,
  { aLow, aHigh, bLow, bHigh }: Span,
): Match {
  let aStart = aLow;
  let bStart = bLow;
  let size = 0;
  let runs = new Map<number, number>();
  for (let i = aLow; i < aHigh; i++) {
    const next = new Map<number, number>();
    for (const j of index.get(a[i]!) ?? []) {
      if (j < bLow) continue;
      if (j >= bHigh) break;
      const length = (runs.get(j - 1) ?? 0) + 1;
      next.set(j, length);
      if (length > size) {
        aStart = i - length + 1;
        bStart = j - length + 1;
        size = length;
      }
    }
    runs = next;
  }
  while (aStart > aLow && bStart > bLow && a[aStart - 1] === b[bStart - 1]) {
    aStart--;
    bStart--;
    size++;
  }
  while (aStart + size < aHigh && bStart + size < bHigh && a[aStart + size] === b[bStart + size]) {
    size++;
  }
  return { aStart, bStart, size };
}

/** Cuts long equal stretches down to their context; what is far apart becomes its own group. */
function groupEdits(all: readonly Edit[]): Edit[][] {
  const groups: Edit[][] = [];
  let group: Edit[] = [];
  all.forEach((each, position) => {
    if (each.tag === "change") {
      group.push(each);
      return;
    }
    const { aStart, aEnd, bStart, bEnd } = each;
    const isFirst = position === 0;
    const isLast = position === all.length - 1;
    const from = isFirst ? Math.max(aStart, aEnd - CONTEXT_LINES) : aStart;
    const to = isLast ? Math.min(aEnd, aStart + CONTEXT_LINES) : aEnd;
    if (isFirst || isLast || aEnd - aStart <= 2 * CONTEXT_LINES) {
      group.push(edit("equal", from, to, bStart + from - aStart, bEnd - (aEnd - to)));
      return;
    }
    group.push(edit("equal", aStart, aStart + CONTEXT_LINES, bStart, bStart + CONTEXT_LINES));
    groups.push(group);
    group = [edit("equal", aEnd - CONTEXT_LINES, aEnd, bEnd - CONTEXT_LINES, bEnd)];
  });
  if (group.length > 0) groups.push(group);
  return groups.filter((edits) => edits.some(({ tag }) => tag === "change"));
}

/** Lines are counted from 1; an empty range names the line before it. */
function rangeText(start: number, end: number): string {
  const length = end - start;
  if (length === 1) return `${start + 1}`;
  return length === 0 ? `${start},0` : `${start + 1},${length}`;
}
