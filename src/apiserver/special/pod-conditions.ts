/** Sets one condition of a pod's status; its transition time moves only when its status does. */
import type { Pod, PodCondition } from "#api/generated/core.v1.ts";
import type { Draft } from "#api/kind.ts";
import { timeFromMs } from "#api/meta/time.ts";

export function setPodCondition(
  pod: Draft<Pod>,
  condition: Pick<PodCondition, "type" | "status" | "reason" | "message">,
  nowMs: number,
): void {
  pod.status ??= {};
  const conditions = pod.status.conditions ?? [];
  const old = conditions.find(({ type }) => type === condition.type);
  const lastTransitionTime =
    old?.status === condition.status ? old.lastTransitionTime : timeFromMs(nowMs);
  const next = {
    ...condition,
    ...(lastTransitionTime === undefined ? {} : { lastTransitionTime }),
  } as Draft<PodCondition>;
  pod.status.conditions =
    old === undefined
      ? [...conditions, next]
      : conditions.map((one) => (one === old ? { ...old, ...next } : one));
}
