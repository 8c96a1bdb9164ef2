/**
 * Carries out a resize that was allocated: the pod's cgroup is widened first, then containers are
 * updated, then the pod's cgroup gets its new limits. Restarts are left to the caller.
 */
import type { Pod } from "#api/generated/core.v1.ts";
import type { ContainerResize } from "#kubelet/decide/resize.ts";
import { containerLimits, podCgroupLimits } from "#kubelet/decide/resources/cgroup-limits.ts";
import { swapLimits } from "#kubelet/decide/resources/swap.ts";
import type { PodServices } from "#kubelet/pods/pod-services.ts";
import { CONTAINER_NAME } from "#kubelet/runtime/labels.ts";

/** `before`: the pod with the amounts that it had. */
export async function resizeContainers(
  pod: Pod,
  before: Pod,
  resizes: readonly ContainerResize[],
  services: PodServices,
): Promise<void> {
  const { cgroups, node, runtime, allocations } = services;
  await refuseTooLittleMemory(pod, before, resizes, services);
  const [old, next] = [podCgroupLimits(before, node.cfs), podCgroupLimits(pod, node.cfs)];
  const group = node.podCgroup(pod);
  await cgroups.ensure(group, widest(old, next));
  for (const { container, run, restart } of resizes) {
    if (restart) continue;
    const limits = containerLimits(pod, container, node.memoryCapacityBytes, node.cfs);
    const swap = swapLimits(pod, container, limits.memoryLimitBytes, node.swap);
    await runtime.updateContainerResources({
      containerId: run.id,
      linux: {
        cpuPeriod: limits.cpuPeriodUs,
        cpuQuota: limits.cpuQuotaUs ?? -1,
        cpuShares: limits.cpuShares,
        memoryLimitInBytes: limits.memoryLimitBytes,
        memorySwapLimitInBytes: swap.memorySwapLimitBytes,
        ...(swap.swapMaxBytes === undefined
          ? {}
          : { unified: { "memory.swap.max": String(swap.swapMaxBytes) } }),
      },
    });
    allocations.actuate(pod.metadata.uid ?? "", container.name, container.resources ?? {});
  }
  await cgroups.ensure(group, next);
  allocations.actuatePod(pod.metadata.uid ?? "", pod.spec.resources);
}

type Limits = ReturnType<typeof podCgroupLimits>;

/** The larger of both, so that containers can grow before the pod shrinks. */
function widest(a: Limits, b: Limits): Limits {
  const { cpuQuotaUs: aQuota, memoryLimitBytes: aMemory } = a;
  const { cpuQuotaUs: bQuota, memoryLimitBytes: bMemory } = b;
  return {
    ...b,
    cpuShares: Math.max(a.cpuShares, b.cpuShares),
    ...(aQuota === undefined || bQuota === undefined
      ? {}
      : { cpuQuotaUs: Math.max(aQuota, bQuota) }),
    ...(aMemory === undefined || bMemory === undefined
      ? {}
      : { memoryLimitBytes: Math.max(aMemory, bMemory) }),
  };
}

/** A limit below what is in use would kill the container. */
async function refuseTooLittleMemory(
  pod: Pod,
  before: Pod,
  resizes: readonly ContainerResize[],
  { runtime, node }: PodServices,
): Promise<void> {
  const shrinking = resizes.filter(({ container, restart }) => {
    const old = (before.spec.containers ?? []).find(({ name }) => name === container.name);
    const next = containerLimits(pod, container, node.memoryCapacityBytes).memoryLimitBytes;
    if (restart || next === undefined || old === undefined) return false;
    const limit = containerLimits(before, old, node.memoryCapacityBytes).memoryLimitBytes;
    return limit === undefined || next < limit;
  });
  for (const { container, run } of shrinking) {
    const limit = containerLimits(pod, container, node.memoryCapacityBytes).memoryLimitBytes ?? 0;
    const { stats } = await runtime.containerStats({ containerId: run.id });
    const used = Number(
      stats?.memory?.usageBytes?.value ?? stats?.memory?.workingSetBytes?.value ?? 0n,
    );
    if (used < limit) continue;
    const name = stats?.attributes?.labels[CONTAINER_NAME] ?? container.name;
    throw new Error(
      `cannot decrease memory limits: attempting to set container "${name}" memory limit (${limit}) below current usage (${used})`,
    );
  }
}
