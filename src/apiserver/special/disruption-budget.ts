/** Takes one disruption from a budget, or returns why there is none. */
import type { Status } from "#api/generated/meta.v1.ts";
import type { PodDisruptionBudget } from "#api/generated/policy.v1.ts";
import type { Draft } from "#api/kind.ts";
import { podDisruptionBudgetKind } from "#api/kinds/policy/v1/pod-disruption-budget.ts";
import { forbiddenStatus, tooManyRequestsStatus } from "#api/meta/status.ts";
import { timeFromMs } from "#api/meta/time.ts";
import type { Objects } from "../storage/objects.ts";

const DISRUPTED_PODS_MAX = 2000;
const REFUSED = "Cannot evict pod as it would violate the pod's disruption budget.";

/** Undefined: taken (on a dry run: it could have been). */
export async function takeFromBudget(
  objects: Objects,
  budget: PodDisruptionBudget,
  podName: string,
  dryRun: boolean,
  nowMs: number,
): Promise<Status | undefined> {
  if (dryRun) return refuseByBudget(budget);
  const { name = "", namespace = "" } = budget.metadata;
  const take = (draft: Draft<PodDisruptionBudget>): Status | undefined => {
    const refusal = refuseByBudget(draft as PodDisruptionBudget);
    if (refusal !== undefined) return refusal;
    const status = draft.status!;
    status.disruptionsAllowed -= 1;
    if (status.disruptionsAllowed === 0) noteInsufficient(draft, nowMs);
    status.disruptedPods = { ...status.disruptedPods, [podName]: timeFromMs(nowMs) };
    return undefined;
  };
  const kind = podDisruptionBudgetKind;
  const taken = await objects.mutate(kind, namespace, name, take, "status");
  return taken.ok ? undefined : taken.status;
}

export function tooManyEvictions(budget: string): Status {
  const message = `The disruption budget ${budget} is still being processed by the server.`;
  return withCause(tooManyRequestsStatus(REFUSED, 10), message);
}

function refuseByBudget(budget: PodDisruptionBudget): Status | undefined {
  const name = budget.metadata.name ?? "";
  const status = budget.status;
  const forbidden = (why: string): Status =>
    forbiddenStatus({ group: "policy", resource: "poddisruptionbudget" }, name, why);
  if ((status?.observedGeneration ?? 0) < (budget.metadata.generation ?? 0)) {
    return tooManyEvictions(name);
  }
  const allowed = status?.disruptionsAllowed ?? 0;
  if (allowed < 0) return forbidden("pdb disruptions allowed is negative");
  if (Object.keys(status?.disruptedPods ?? {}).length > DISRUPTED_PODS_MAX) {
    return forbidden(
      "DisruptedPods map too big - too many evictions not confirmed by PDB controller",
    );
  }
  return allowed === 0 ? withCause(tooManyRequestsStatus(REFUSED, 0), whyNone(budget)) : undefined;
}

function whyNone({ metadata, status }: PodDisruptionBudget): string {
  const name = metadata.name ?? "";
  const condition = status?.conditions?.find(({ type }) => type === "DisruptionAllowed");
  const isExplained = condition?.status === "False" && condition.message !== "";
  if (isExplained && condition?.reason === "SyncFailed") {
    return `The disruption budget ${name} does not allow evicting pods currently because it failed sync: ${condition.message}`;
  }
  const { currentHealthy = 0, desiredHealthy = 0 } = status ?? {};
  if (currentHealthy <= desiredHealthy) {
    return `The disruption budget ${name} needs ${desiredHealthy} healthy pods and has ${currentHealthy} currently`;
  }
  const base = `The disruption budget ${name} does not allow evicting pods currently`;
  return isExplained ? `${base} (${condition?.reason}): ${condition?.message}` : base;
}

function withCause(status: Status, message: string): Status {
  const causes = [{ reason: "DisruptionBudget", message }];
  return { ...status, details: { ...status.details, causes } };
}

function noteInsufficient(draft: Draft<PodDisruptionBudget>, nowMs: number): void {
  const conditions = draft.status?.conditions ?? [];
  const old = conditions.find(({ type }) => type === "DisruptionAllowed");
  const next = {
    type: "DisruptionAllowed",
    status: "False" as const,
    observedGeneration: draft.metadata.generation ?? 0,
    lastTransitionTime:
      old?.status === "False" ? (old.lastTransitionTime ?? null) : timeFromMs(nowMs),
    reason: "InsufficientPods",
    message: "",
  };
  draft.status!.conditions = [...conditions.filter((one) => one !== old), next];
}
