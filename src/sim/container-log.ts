/** The log of a simulated container: the lines of its behaviour, all written when it started. Pure. */
import type { Pod } from "#api/generated/core.v1.ts";
import { timeToMs } from "#api/meta/time.ts";
import { statusOf } from "#kubelet/server/log/log-container.ts";
import type { LogOptions } from "#kubelet/server/log/log-options.ts";

export function containerLogText(
  pod: Pod,
  container: string,
  lines: readonly string[],
  options: LogOptions,
): string {
  const { state, lastState } = statusOf(pod, container) ?? {};
  const current = state?.running?.startedAt ?? state?.terminated?.startedAt;
  const previous = lastState?.terminated?.startedAt;
  const startedAt = (options.previous ? previous : (current ?? previous)) ?? "";
  const startedMs = startedAt === "" ? 0 : timeToMs(startedAt);
  if (options.stream === "Stderr") return "";
  if (options.sinceMs !== undefined && startedMs < options.sinceMs) return "";
  const shown = options.tailLines === undefined ? lines : lastOf(lines, options.tailLines);
  const text = shown
    .map((line) => (options.timestamps ? `${startedAt} ${line}\n` : `${line}\n`))
    .join("");
  return options.limitBytes === undefined ? text : text.slice(0, options.limitBytes);
}

function lastOf(lines: readonly string[], count: number): readonly string[] {
  return count === 0 ? [] : lines.slice(-count);
}
