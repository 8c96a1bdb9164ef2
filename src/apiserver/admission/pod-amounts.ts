/** What a pod asks for as a whole: its containers together, or what it says for the pod itself. */

import { sumOverContainers } from "#api/core/v1/resource-lists.ts";
import { isPodLevelResource } from "#api/core/v1/resource-names.ts";
import type { Pod, ResourceList } from "#api/generated/core.v1.ts";

export function podRequests({ spec }: Pick<Pod, "spec">): Record<string, string> {
  const total = sumOverContainers(spec, (container) => container.resources?.requests);
  return { ...total, ...podLevel(spec.resources?.requests) };
}

export function podLimits({ spec }: Pick<Pod, "spec">): Record<string, string> {
  const total = sumOverContainers(spec, (container) => container.resources?.limits);
  return { ...total, ...podLevel(spec.resources?.limits) };
}

function podLevel(list: ResourceList = {}): Record<string, string> {
  return Object.fromEntries(Object.entries(list).filter(([name]) => isPodLevelResource(name)));
}
