/** Graceful node shutdown: which pods are ended when, and how long each may take. */
import type { Pod } from "#api/generated/core.v1.ts";

export interface ShutdownGroup {
  readonly pods: readonly Pod[];
  readonly graceSeconds: number;
}

const CRITICAL_PRIORITY = 2_000_000_000;

/** Critical pods are ended last, in the part of the time that is kept for them. */
export function shutdownGroups(
  pods: readonly Pod[],
  settings: { readonly shutdownGraceMs: number; readonly shutdownGraceCriticalMs: number },
): ShutdownGroup[] {
  const { shutdownGraceMs, shutdownGraceCriticalMs } = settings;
  const isCritical = ({ spec }: Pod): boolean => (spec.priority ?? 0) >= CRITICAL_PRIORITY;
  const ofMs = (ms: number): number => Math.floor(ms / 1000);
  return [
    {
      pods: pods.filter((pod) => !isCritical(pod)),
      graceSeconds: ofMs(shutdownGraceMs - shutdownGraceCriticalMs),
    },
    { pods: pods.filter(isCritical), graceSeconds: ofMs(shutdownGraceCriticalMs) },
  ].filter((group) => group.pods.length > 0);
}

/** A pod gets its own grace, but not more than its group has. */
export function shutdownGrace({ spec }: Pod, { graceSeconds }: ShutdownGroup): number {
  return Math.min(spec.terminationGracePeriodSeconds ?? graceSeconds, graceSeconds);
}
