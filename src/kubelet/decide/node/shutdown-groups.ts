/** Graceful node shutdown: which pods are ended when, and how long each may take. */
import type { Pod } from "#api/generated/core.v1.ts";

/** Pods of this priority and more, up to the next entry's, get so much time together. */
export interface ShutdownPeriod {
  readonly priority: number;
  readonly shutdownGracePeriodSeconds: number;
}

export interface ShutdownGroup {
  readonly pods: readonly Pod[];
  readonly graceSeconds: number;
}

interface ShutdownSettings {
  readonly shutdownGraceMs: number;
  readonly shutdownGraceCriticalMs: number;
  readonly shutdownGraceByPriority: readonly ShutdownPeriod[];
}

const CRITICAL_PRIORITY = 2_000_000_000;

/** From the lowest priority to the highest; none: shutdowns are not held back. */
export function shutdownPeriods(settings: ShutdownSettings): readonly ShutdownPeriod[] {
  const { shutdownGraceMs, shutdownGraceCriticalMs, shutdownGraceByPriority } = settings;
  if (shutdownGraceByPriority.length > 0) {
    return [...shutdownGraceByPriority].sort((a, b) => a.priority - b.priority);
  }
  if (shutdownGraceMs <= 0) return [];
  const secondsOf = (ms: number): number => Math.floor(ms / 1000);
  const restMs = shutdownGraceMs - shutdownGraceCriticalMs;
  return [
    { priority: 0, shutdownGracePeriodSeconds: secondsOf(restMs) },
    {
      priority: CRITICAL_PRIORITY,
      shutdownGracePeriodSeconds: secondsOf(shutdownGraceCriticalMs),
    },
  ];
}

/** In the order in which they are ended. A priority below all periods belongs to the first. */
export function shutdownGroups(
  pods: readonly Pod[],
  periods: readonly ShutdownPeriod[],
): ShutdownGroup[] {
  const indexOf = ({ spec }: Pod): number =>
    Math.max(
      0,
      periods.findLastIndex(({ priority }) => priority <= (spec.priority ?? 0)),
    );
  return periods
    .map(({ shutdownGracePeriodSeconds: graceSeconds }, index) => ({
      pods: pods.filter((pod) => indexOf(pod) === index),
      graceSeconds,
    }))
    .filter((group) => group.pods.length > 0);
}

/** A pod gets its own grace, but not more than its group has. */
export function shutdownGrace({ spec }: Pod, { graceSeconds }: ShutdownGroup): number {
  return Math.min(spec.terminationGracePeriodSeconds ?? graceSeconds, graceSeconds);
}
