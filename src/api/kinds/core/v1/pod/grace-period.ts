/** How long a pod that is being deleted has to end. */
import type { Pod } from "#api/generated/core.v1.ts";

/** A pod that runs nowhere, or no more, needs no time to end. */
export function graceSeconds({ spec, status }: Pod, asked: number | undefined): number {
  if ((spec?.nodeName ?? "") === "") return 0;
  if (status?.phase === "Failed" || status?.phase === "Succeeded") return 0;
  const seconds = asked ?? spec?.terminationGracePeriodSeconds ?? 0;
  return seconds < 0 ? 1 : seconds;
}
