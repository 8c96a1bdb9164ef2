/** The usage history that the metrics server answers, in words. Pure. */
export interface UsageHistory {
  /** Seconds since 1970. */
  readonly timestamps?: readonly number[];
  readonly cpuCores?: readonly number[];
  readonly memoryBytes?: readonly number[];
}

export function coresText(cores: number): string {
  return cores < 1 ? `${Math.round(cores * 1000)}m` : cores.toFixed(2);
}

/** The chart as text, for screen readers. */
export function usageText(values: readonly number[], text: (value: number) => string): string {
  const last = values.at(-1);
  if (last === undefined) return "no measurement";
  const [low, high] = values.reduce(
    ([lowest, highest], value) => [Math.min(lowest, value), Math.max(highest, value)],
    [last, last],
  );
  return `${text(last)} now, ${text(low)} to ${text(high)} in the last hour`;
}
