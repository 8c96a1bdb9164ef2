/** How long ago a time was, in kubectl's words: `45s`, `3m20s`, `7h15m`, `2d3h`, `40d`, `2y10d`. Pure. */
export function ageOf(time: string | undefined, nowMs: number): string {
  const ms = Date.parse(time ?? "");
  if (Number.isNaN(ms)) return "<unknown>";
  const seconds = Math.max(0, Math.floor((nowMs - ms) / 1000));
  const minutes = Math.floor(seconds / 60);
  const hours = Math.floor(minutes / 60);
  const days = Math.floor(hours / 24);
  if (seconds < 120) return `${seconds}s`;
  if (minutes < 10) return pair(minutes, "m", seconds % 60, "s");
  if (hours < 3) return `${minutes}m`;
  if (hours < 8) return pair(hours, "h", minutes % 60, "m");
  if (hours < 48) return `${hours}h`;
  if (days < 8) return pair(days, "d", hours % 24, "h");
  if (days < 730) return `${days}d`;
  return pair(Math.floor(days / 365), "y", days % 365, "d");
}

function pair(large: number, largeUnit: string, small: number, smallUnit: string): string {
  return small === 0 ? `${large}${largeUnit}` : `${large}${largeUnit}${small}${smallUnit}`;
}
