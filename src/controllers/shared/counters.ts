/** Counters of zero are left out, as the API has them: else a status would always seem to differ. */
export function withoutZeros<T extends Readonly<Record<string, number>>>(counters: T): Partial<T> {
  return Object.fromEntries(Object.entries(counters).filter(([, n]) => n !== 0)) as Partial<T>;
}
