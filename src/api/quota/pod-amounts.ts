/** What a pod asks for as a whole: its containers together, or what it says for the pod itself. */

import type { Container, Pod, ResourceList } from "#api/generated/core.v1.ts";
import { compareAmounts, sumOverContainers } from "#api/kinds/core/v1/resources/resource-lists.ts";
import { isPodLevelResource } from "#api/kinds/core/v1/resources/resource-names.ts";
import { type Amounts, addAmounts } from "./amounts.ts";

/** Of the spec alone. */
export function podRequests({ spec }: Pick<Pod, "spec">): Amounts {
  const total = sumOverContainers(spec, ({ resources }) => resources?.requests);
  return { ...total, ...podLevel(spec.resources?.requests) };
}

export function podLimits({ spec }: Pick<Pod, "spec">): Amounts {
  const total = sumOverContainers(spec, ({ resources }) => resources?.limits);
  return { ...total, ...podLevel(spec.resources?.limits) };
}

/** With the overhead, and with what a container that is being resized still has. */
export function heldRequests(pod: Pod): Amounts {
  const held = heldLists(pod, ({ resources, allocatedResources }) => [
    resources?.requests,
    allocatedResources,
  ]);
  const total = sumOverContainers(pod.spec, (one) => held(one, one.resources?.requests));
  const all = { ...total, ...podLevel(pod.spec.resources?.requests) };
  return addAmounts(all, pod.spec.overhead ?? {});
}

export function heldLimits(pod: Pod): Amounts {
  const held = heldLists(pod, ({ resources }) => [resources?.limits]);
  const total = sumOverContainers(pod.spec, (one) => held(one, one.resources?.limits));
  const all = { ...total, ...podLevel(pod.spec.resources?.limits) };
  const overhead = Object.entries(pod.spec.overhead ?? {});
  const bounded = overhead.filter(([name]) => compareAmounts(all[name] ?? "0", "0") > 0);
  return addAmounts(all, Object.fromEntries(bounded));
}

type ContainerStatus = NonNullable<Pod["status"]["containerStatuses"]>[number];

/** The most of what is asked for and what is there; a resize that cannot be done is not asked for. */
function heldLists(
  { status }: Pod,
  listsOf: (status: ContainerStatus) => readonly (ResourceList | undefined)[],
): (container: Container, asked: ResourceList | undefined) => ResourceList {
  const statuses = new Map(
    [...(status?.containerStatuses ?? []), ...(status?.initContainerStatuses ?? [])].map((one) => [
      one.name,
      one,
    ]),
  );
  const infeasible = (status?.conditions ?? []).some(
    ({ type, reason }) => type === "PodResizePending" && reason === "Infeasible",
  );
  return (container, asked = {}) => {
    const known = statuses.get(container.name);
    if (known === undefined) return asked;
    const there = listsOf(known).filter((list) => list !== undefined);
    if (there.length === 0) return asked;
    return (infeasible ? there : [asked, ...there]).reduce(largest);
  };
}

function largest(a: ResourceList, b: ResourceList): ResourceList {
  const result: Record<string, string> = { ...a };
  for (const [name, amount] of Object.entries(b)) {
    const known = result[name];
    if (known === undefined || compareAmounts(amount, known) > 0) result[name] = amount;
  }
  return result;
}

function podLevel(list: ResourceList = {}): Amounts {
  return Object.fromEntries(Object.entries(list).filter(([name]) => isPodLevelResource(name)));
}
