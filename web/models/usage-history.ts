/** The usage history that the metrics server answers, in words. Pure. */
export interface UsageHistory {
  /** Seconds since 1970. */
  readonly timestamps?: readonly number[];
  readonly cpuCores?: readonly number[];
  readonly memoryBytes?: readonly number[];
}

export function coresText(cores: number): string {
  if (cores >= 1) return cores.toFixed(2);
  const millis = cores * 1000;
  return `${millis < 10 ? Number(millis.toFixed(1)) : Math.round(millis)}m`;
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
