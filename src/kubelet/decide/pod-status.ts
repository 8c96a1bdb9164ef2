/** The whole status of a pod for the API. */
import type { PodStatus } from "#api/generated/core.v1.ts";
import { qosClassOf } from "#api/kinds/core/v1/pod/qos.ts";
import { timeFromMs } from "#api/meta/time.ts";
import { podLimits, podRequests } from "#api/quota/pod-amounts.ts";
import { decideContainerStatuses, type StatusInputs } from "./container-statuses.ts";
import { type ConditionSays, decideConditions } from "./pod-conditions.ts";
import { decidePhase, type Phase } from "./pod-phase.ts";
import { isAlive, latestRun } from "./pod-runtime.ts";
import { withAllocation } from "./resize.ts";

export interface PodStatusInputs extends StatusInputs {
  /** What was reported last; the API's status unless something was. */
  readonly previous: PodStatus;
  readonly isTerminal: boolean;
  readonly isStatic: boolean;
  /** The kubelet itself ended it: evicted, too old, refused. */
  readonly ended: EndedPod | undefined;
  readonly hostIps: readonly string[];
  readonly nowMs: number;
  /** PodResizePending and PodResizeInProgress, while they are true. */
  readonly resize?: readonly ConditionSays[];
}

export interface EndedPod {
  readonly reason: string;
  readonly message: string;
  /** Reported as the condition DisruptionTarget. */
  readonly disruption?: { readonly reason: string; readonly message: string };
}

export function decidePodStatus(inputs: PodStatusInputs): PodStatus {
  const { pod, runtime, previous, nowMs } = inputs;
  const { spec } = pod;
  const init = decideContainerStatuses(
    "init",
    spec.initContainers ?? [],
    previous.initContainerStatuses ?? [],
    inputs,
  );
  const regular = decideContainerStatuses(
    "regular",
    spec.containers ?? [],
    previous.containerStatuses ?? [],
    inputs,
  );
  const ephemeral = decideContainerStatuses(
    "ephemeral",
    spec.ephemeralContainers ?? [],
    previous.ephemeralContainerStatuses ?? [],
    inputs,
  );
  const statuses = new Map([...init, ...regular].map((status) => [status.name, status]));
  const phase = phaseOf(inputs, statuses);
  const conditionInputs = { pod, runtime, statuses, phase, nowMs };
  const conditions = decideConditions({
    ...conditionInputs,
    previous: previous.conditions ?? [],
    disruption: inputs.ended?.disruption,
    resize: inputs.resize,
  });
  const why = reasonOf(inputs, phase);
  const { generation } = pod.metadata;
  return {
    ...foreignFields(pod.status),
    ...(generation === undefined ? {} : { observedGeneration: generation }),
    phase,
    conditions,
    ...(why.message === undefined ? {} : { message: why.message }),
    ...(why.reason === undefined ? {} : { reason: why.reason }),
    ...addressesOf(inputs),
    startTime: previous.startTime ?? pod.status.startTime ?? timeFromMs(nowMs),
    ...(init.length > 0 ? { initContainerStatuses: init } : {}),
    containerStatuses: regular,
    qosClass: pod.status.qosClass ?? qosClassOf(spec),
    ...podAmounts(inputs),
    ...(ephemeral.length > 0 ? { ephemeralContainerStatuses: ephemeral } : {}),
  };
}

/** A final phase stays, whatever the runtime says later. */
function phaseOf(
  inputs: PodStatusInputs,
  statuses: Parameters<typeof decidePhase>[0]["statuses"],
): Phase {
  const { pod, runtime, previous, isTerminal, isStatic, ended } = inputs;
  if (ended !== undefined) return "Failed";
  for (const { phase } of [pod.status, previous]) {
    if (phase === "Failed" || phase === "Succeeded") return phase;
  }
  const regularIsAlive = (pod.spec.containers ?? []).some(({ name }) => {
    const run = latestRun(runtime, name);
    return run !== undefined && isAlive(run);
  });
  return decidePhase({ pod, statuses, isTerminal, isStatic, regularIsAlive });
}

function reasonOf(
  { pod, previous, ended }: PodStatusInputs,
  phase: Phase,
): { reason?: string | undefined; message?: string | undefined } {
  if (ended !== undefined) return { reason: ended.reason, message: ended.message };
  if (phase !== previous.phase) return {};
  return {
    reason: previous.reason ?? pod.status.reason,
    message: previous.message ?? pod.status.message,
  };
}

/** What the pod as a whole is allocated and has. */
function podAmounts({ pod, actuated }: PodStatusInputs): PodStatus {
  const allocatedResources = podRequests(pod);
  if (Object.keys(allocatedResources).length === 0) return {};
  const has = actuated === undefined ? pod : withAllocation(pod, actuated);
  const [requests, limits] = [podRequests(has), podLimits(has)];
  const resources = { requests, ...(Object.keys(limits).length === 0 ? {} : { limits }) };
  return { allocatedResources, resources };
}

/** Fields that other components write. */
function foreignFields(status: PodStatus): PodStatus {
  const { nominatedNodeName, resourceClaimStatuses, extendedResourceClaimStatus } = status;
  return {
    ...(nominatedNodeName === undefined ? {} : { nominatedNodeName }),
    ...(resourceClaimStatuses === undefined ? {} : { resourceClaimStatuses }),
    ...(extendedResourceClaimStatus === undefined ? {} : { extendedResourceClaimStatus }),
  };
}

function addressesOf({ pod, runtime, previous, hostIps }: PodStatusInputs): PodStatus {
  const [hostIP] = hostIps;
  const host = hostIP === undefined ? {} : { hostIP, hostIPs: hostIps.map((ip) => ({ ip })) };
  const known = previous.podIPs ?? [];
  const found =
    pod.spec.hostNetwork === true
      ? known.length > 0
        ? known.map(({ ip }) => ip)
        : hostIps
      : (runtime.sandboxes[0]?.ips ?? []);
  // The addresses of a sandbox that is gone stay visible until there are others.
  const ips = found.length > 0 ? found : known.map(({ ip }) => ip);
  const [podIP] = ips;
  return { ...host, ...(podIP === undefined ? {} : { podIP, podIPs: ips.map((ip) => ({ ip })) }) };
}
