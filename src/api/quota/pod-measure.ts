/** What pods cost: themselves, and what they request and are limited to as long as they run. */

import type {
  Pod,
  PodAffinityTerm,
  ScopedResourceSelectorRequirement,
} from "#api/generated/core.v1.ts";
import { qosClassOf } from "#api/kinds/core/v1/pod/qos.ts";
import {
  isExtendedResource,
  isNativeResource,
} from "#api/kinds/core/v1/resources/resource-names.ts";
import type { Amounts } from "./amounts.ts";
import { type Measure, selects } from "./measure.ts";
import { heldLimits, heldRequests } from "./pod-amounts.ts";

function isTerminating({ spec }: Pod): boolean {
  return (spec.activeDeadlineSeconds ?? -1) >= 0;
}

const POD_COUNT = "count/pods";
const POD_RESOURCES = new Set([
  POD_COUNT,
  "pods",
  ...["cpu", "memory", "ephemeral-storage"].flatMap((name) => [
    name,
    `requests.${name}`,
    `limits.${name}`,
  ]),
]);
/** Quota of these obliges every container to say what it needs. An old mistake that clients know. */
const OBLIGING = ["cpu", "memory"].flatMap((name) => [name, `requests.${name}`, `limits.${name}`]);
const IMPLICIT_CLASS = "deviceclass.resource.kubernetes.io/";

export const podMeasure: Measure = {
  covers: (resource) =>
    POD_RESOURCES.has(resource) ||
    /^(requests\.)?hugepages-/.test(resource) ||
    (resource.startsWith("requests.") &&
      (!isNativeResource(resource) || resource.startsWith(`requests.${IMPLICIT_CLASS}`))),
  usage(object, nowMs) {
    const pod = object as Pod;
    const count = { [POD_COUNT]: "1" };
    if (!isCharged(pod, nowMs)) return count;
    return { ...count, ...computeUsage(heldRequests(pod), heldLimits(pod)) };
  },
  changesWith: (subresource, next, old) =>
    subresource === "resize" ||
    (subresource === "" && isTerminating(next as Pod) !== isTerminating(old as Pod)),
  inScope: (object, scope) => podInScope(object as Pod, scope),
  missing(object, resources) {
    const { spec } = object as Pod;
    const ofPod = spec.resources;
    if (ofPod?.requests !== undefined || ofPod?.limits !== undefined) return undefined;
    const obliged = OBLIGING.filter((name) => resources.includes(name)).sort();
    const containers = [...(spec.containers ?? []), ...(spec.initContainers ?? [])];
    const lacking = obliged.flatMap((name) => {
      const names = containers
        .filter(({ resources: own }) => {
          const used = computeUsage(own?.requests ?? {}, own?.limits ?? {});
          return used[name] === undefined;
        })
        .map((container) => container.name);
      return names.length === 0 ? [] : [`${name} for: ${[...new Set(names)].sort().join(",")}`];
    });
    return lacking.length === 0 ? undefined : `must specify ${lacking.join("; ")}`;
  },
};

/** Finished pods, and those whose node let their time pass, hold nothing any more. */
function isCharged({ metadata, status }: Pod, nowMs: number): boolean {
  if (status?.phase === "Failed" || status?.phase === "Succeeded") return false;
  const { deletionTimestamp, deletionGracePeriodSeconds } = metadata;
  if (!deletionTimestamp || deletionGracePeriodSeconds === undefined) return true;
  return nowMs <= Date.parse(deletionTimestamp) + deletionGracePeriodSeconds * 1000;
}

function computeUsage(requests: Amounts, limits: Amounts): Amounts {
  const usage: Record<string, string> = { pods: "1" };
  for (const name of ["cpu", "memory", "ephemeral-storage"]) {
    const [request, limit] = [requests[name], limits[name]];
    if (request !== undefined)
      Object.assign(usage, { [name]: request, [`requests.${name}`]: request });
    if (limit !== undefined) usage[`limits.${name}`] = limit;
  }
  for (const [name, amount] of Object.entries(requests)) {
    if (name.startsWith("hugepages-")) {
      Object.assign(usage, { [name]: amount, [`requests.${name}`]: amount });
    } else if (isExtendedResource(name) || name.startsWith(IMPLICIT_CLASS)) {
      usage[`requests.${name}`] = amount;
    }
  }
  return usage;
}

function podInScope(pod: Pod, scope: ScopedResourceSelectorRequirement): boolean {
  switch (scope.scopeName) {
    case "Terminating":
      return isTerminating(pod);
    case "NotTerminating":
      return !isTerminating(pod);
    case "BestEffort":
      return qosClassOf(pod.spec) === "BestEffort";
    case "NotBestEffort":
      return qosClassOf(pod.spec) !== "BestEffort";
    case "PriorityClass": {
      const name = pod.spec.priorityClassName ?? "";
      return selects(scope, name === "" ? [] : [name]);
    }
    case "CrossNamespacePodAffinity":
      return affinityTerms(pod).some(
        ({ namespaces, namespaceSelector }) =>
          namespaces?.length || namespaceSelector !== undefined,
      );
    default:
      return false;
  }
}

function affinityTerms({ spec }: Pod): readonly PodAffinityTerm[] {
  return [spec.affinity?.podAffinity, spec.affinity?.podAntiAffinity].flatMap((affinity) => [
    ...(affinity?.requiredDuringSchedulingIgnoredDuringExecution ?? []),
    ...(affinity?.preferredDuringSchedulingIgnoredDuringExecution ?? []).map(
      ({ podAffinityTerm }) => podAffinityTerm,
    ),
  ]);
}
