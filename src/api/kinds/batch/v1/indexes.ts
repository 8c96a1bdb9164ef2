/** Lists of indexes in text: `1,3-5,7`, in growing order and below the number of completions. */
import { goQuote } from "#api/meta/go-quote.ts";

export type ParsedIndexes =
  | { readonly ok: true; readonly count: number }
  | { readonly ok: false; readonly error: string };

export function parseIndexes(text: string, completions: number): ParsedIndexes {
  if (text === "") return { ok: true, count: 0 };
  let count = 0;
  let last: number | undefined;
  for (const part of text.split(",")) {
    const interval = parseInterval(part, completions);
    if (!interval.ok) return interval;
    const { first } = interval;
    if (last !== undefined && last >= first) {
      const error = `non-increasing order, previous: ${last}, current: ${first}`;
      return { ok: false, error };
    }
    count += interval.last - first + 1;
    last = interval.last;
  }
  return { ok: true, count };
}

/** The first index that stands in both lists; parts that cannot be read are passed over. */
export function firstOverlap(a: string, b: string, completions: number): number | undefined {
  const left = intervals(a, completions);
  const right = intervals(b, completions);
  for (let i = 0, j = 0; i < left.length && j < right.length; ) {
    const x = left[i]!;
    const y = right[j]!;
    if (x.first <= y.last && y.first <= x.last) return Math.max(x.first, y.first);
    if (x.first <= y.first) i++;
    else j++;
  }
  return undefined;
}

interface Interval {
  readonly first: number;
  readonly last: number;
}

type ParsedInterval =
  | ({ readonly ok: true } & Interval)
  | { readonly ok: false; readonly error: string };

function intervals(text: string, completions: number): Interval[] {
  if (text === "") return [];
  return text.split(",").flatMap((part) => {
    const interval = parseInterval(part, completions);
    return interval.ok ? [interval] : [];
  });
}

function parseInterval(text: string, completions: number): ParsedInterval {
  const limits = text.split("-");
  if (limits.length > 2) {
    const error = `the fragment ${goQuote(text)} violates the requirement that an index interval can have at most two parts separated by '-'`;
    return { ok: false, error };
  }
  for (const limit of limits) {
    const fault = indexFault(limit, completions);
    if (fault !== undefined) return { ok: false, error: fault };
  }
  const [first, last = first] = limits.map(Number) as [number, number?];
  if (limits.length === 2 && first >= last) {
    return { ok: false, error: `non-increasing order, previous: ${first}, current: ${last}` };
  }
  return { ok: true, first, last };
}

function indexFault(text: string, completions: number): string | undefined {
  if (!/^\+?[0-9]{1,18}$/.test(text)) {
    return `cannot convert string to integer for index: ${goQuote(text)}`;
  }
  return Number(text) >= completions ? `too large index: ${goQuote(text)}` : undefined;
}
