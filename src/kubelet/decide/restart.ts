/** Whether a container that ended is started again: restart policies and container restart rules. */
import type { Container, Pod, PodSpec } from "#api/generated/core.v1.ts";
import { latestRun, type PodRuntime } from "./pod-runtime.ts";

export function isSidecar(container: Pick<Container, "restartPolicy">): boolean {
  return container.restartPolicy === "Always";
}

/** By the rules of the container first, then by its own policy, then by the pod's. */
export function restartsAfter(container: Container, spec: PodSpec, exitCode: number): boolean {
  if (container.restartPolicy !== undefined) {
    const rule = container.restartPolicyRules?.find(({ exitCodes }) =>
      matches(exitCodes, exitCode),
    );
    if (rule?.action === "Restart" || rule?.action === "RestartAllContainers") return true;
    return policyRestarts(container.restartPolicy, exitCode);
  }
  return policyRestarts(spec.restartPolicy ?? "Always", exitCode);
}

/** True also for one that was never started. Containers of a deleted pod are not started again. */
export function shouldStart(container: Container, pod: Pod, runtime: PodRuntime): boolean {
  if (pod.metadata.deletionTimestamp !== undefined) return false;
  const run = latestRun(runtime, container.name);
  if (run === undefined || run.state === "unknown" || run.state === "created") return true;
  if (run.state === "running") return false;
  return restartsAfter(container, pod.spec, run.exitCode);
}

/** Whether a container that the kubelet itself kills comes back. */
export function restartsAfterKill(container: Container, spec: PodSpec): boolean {
  return (container.restartPolicy ?? spec.restartPolicy) !== "Never";
}

function policyRestarts(policy: string, exitCode: number): boolean {
  if (policy === "Never") return false;
  return policy === "Always" || exitCode !== 0;
}

function matches(
  codes: { operator?: string; values?: readonly number[] } | undefined,
  exitCode: number,
): boolean {
  if (codes === undefined) return false;
  const isListed = codes.values?.includes(exitCode) ?? false;
  return codes.operator === "NotIn" ? !isListed : isListed;
}
