/** The limits of a pod's cgroup. A pod with CPUs of its own has no quota, which could only slow it down. */
import type { Pod } from "#api/generated/core.v1.ts";
import { type CpuAndMemory, podCgroupLimits } from "#kubelet/decide/resources/cgroup-limits.ts";
import type { PodServices } from "#kubelet/pods/pod-services.ts";
import { containersOf } from "./hint-provider.ts";

export function podLimitsOf(pod: Pod, { resources, node }: PodServices): CpuAndMemory {
  const uid = pod.metadata.uid ?? "";
  const hasOwnCpus = containersOf(pod).some(({ name }) => resources.cpus.isExclusive(uid, name));
  return { ...podCgroupLimits(pod, node.cfs), ...(hasOwnCpus ? { cpuQuotaUs: 0 } : {}) };
}
