/** What a Deployment's strategy allows: how many pods too many and how many too few. */
import type { Deployment } from "#api/generated/apps.v1.ts";
import { type IntOrString, scaledIntOrPercent } from "#api/meta/int-or-string.ts";

export function desiredReplicas({ spec }: Deployment): number {
  return spec.replicas ?? 1;
}

export function isRolling({ spec }: Deployment): boolean {
  return spec.strategy.type === "RollingUpdate";
}

export function maxSurge(deployment: Deployment): number {
  return isRolling(deployment) ? limits(deployment).surge : 0;
}

export function maxUnavailable(deployment: Deployment): number {
  const replicas = desiredReplicas(deployment);
  if (!isRolling(deployment) || replicas === 0) return 0;
  return Math.min(limits(deployment).unavailable, replicas);
}

/** Pods that must stay available through a rolling update. */
export function minAvailable(deployment: Deployment): number {
  return isRolling(deployment) ? desiredReplicas(deployment) - maxUnavailable(deployment) : 0;
}

/** Surge is rounded up, unavailability down; if both come out as none, one may be missing. */
function limits(deployment: Deployment): { surge: number; unavailable: number } {
  const { maxSurge: surgeText, maxUnavailable: unavailableText } =
    deployment.spec.strategy.rollingUpdate ?? {};
  const replicas = desiredReplicas(deployment);
  const surge = scaled(surgeText, replicas, "up");
  const unavailable = scaled(unavailableText, replicas, "down");
  return { surge, unavailable: surge === 0 && unavailable === 0 ? 1 : unavailable };
}

function scaled(value: IntOrString | undefined, total: number, round: "up" | "down"): number {
  const result = scaledIntOrPercent(value ?? 0, total, round);
  return result.ok ? result.value : 0;
}
