/** Upper bounds of a histogram's buckets, each `factor` times the one before. */
export function exponential(start: number, factor: number, count: number): number[] {
  return Array.from({ length: count }, (_, index) => start * factor ** index);
}
