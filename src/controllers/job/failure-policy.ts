/** What a Job's pod failure policy says about a failed pod: the first rule that matches decides. */
import type { Job, PodFailurePolicyRule } from "#api/generated/batch.v1.ts";
import type { ContainerStatus, Pod } from "#api/generated/core.v1.ts";

export interface FailureVerdict {
  /** Whether the failure counts towards the back-off limits. */
  readonly counts: boolean;
  /** Whether the pod's index fails at once. */
  readonly failsIndex: boolean;
  /** Why the whole Job fails, if it does. */
  readonly failsJob?: string;
}

const COUNTED: FailureVerdict = { counts: true, failsIndex: false };

export function verdictOn(pod: Pod, { spec }: Job): FailureVerdict {
  for (const [position, rule] of (spec.podFailurePolicy?.rules ?? []).entries()) {
    const cause = causeFor(pod, rule);
    if (cause === undefined) continue;
    if (rule.action === "Ignore") return { counts: false, failsIndex: false };
    if (rule.action === "FailIndex") return { counts: true, failsIndex: true };
    if (rule.action !== "FailJob") return COUNTED;
    const failsJob = `${cause} matching FailJob rule at index ${position}`;
    return { counts: true, failsIndex: false, failsJob };
  }
  return COUNTED;
}

/** In words, what of the pod matches the rule. */
function causeFor(pod: Pod, rule: PodFailurePolicyRule): string | undefined {
  const { namespace, name } = pod.metadata;
  if (rule.onExitCodes !== undefined) {
    const container = failedContainer(pod, rule.onExitCodes);
    if (container === undefined) return undefined;
    const { exitCode } = container.state.terminated!;
    return `Container ${container.name} for pod ${namespace}/${name} failed with exit code ${exitCode}`;
  }
  const condition = pod.status.conditions?.find(({ type, status }) =>
    rule.onPodConditions?.some((pattern) => pattern.type === type && pattern.status === status),
  );
  return condition && `Pod ${namespace}/${name} has condition ${condition.type}`;
}

function failedContainer(
  { status }: Pod,
  { containerName, operator, values }: NonNullable<PodFailurePolicyRule["onExitCodes"]>,
): ContainerStatus | undefined {
  const all = [...(status.containerStatuses ?? []), ...(status.initContainerStatuses ?? [])];
  return all.find(({ name, state }) => {
    const exitCode = state.terminated?.exitCode ?? 0;
    if (exitCode === 0 || (containerName !== undefined && containerName !== name)) return false;
    return (values ?? []).includes(exitCode) === (operator === "In");
  });
}
