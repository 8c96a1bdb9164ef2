/** Several faults in one line, as Go's aggregate errors read: `a`, or `[a, b]` without repetitions. */
export function aggregateText(faults: readonly string[]): string {
  const [first = "", ...rest] = new Set(faults);
  return rest.length === 0 ? first : `[${[first, ...rest].join(", ")}]`;
}
