/** Whether a pod has the sandbox that it needs. */
import type { Pod } from "#api/generated/core.v1.ts";
import type { PodRuntime } from "./pod-runtime.ts";

export type SandboxDecision =
  | { readonly keep: true; readonly id: string; readonly attempt: number }
  | { readonly keep: false; readonly attempt: number };

export function decideSandbox(pod: Pod, { sandboxes }: PodRuntime): SandboxDecision {
  const [latest] = sandboxes;
  if (latest === undefined) return { keep: false, attempt: 0 };
  const isAlone = sandboxes.filter(({ isReady }) => isReady).length === 1;
  const onHost = pod.spec.hostNetwork === true;
  const isFit =
    latest.isReady &&
    isAlone &&
    latest.usesHostNetwork === onHost &&
    (onHost || latest.ips.length > 0);
  return isFit
    ? { keep: true, id: latest.id, attempt: latest.attempt }
    : { keep: false, attempt: latest.attempt + 1 };
}
