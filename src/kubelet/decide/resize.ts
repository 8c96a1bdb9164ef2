/**
 * In-place resize of pods. The node remembers what it has allocated to a pod; the spec may ask for
 * something else. A resize is allocated when the node can give it, and then carried out: the
 * container is updated as it runs, or restarted where its resizePolicy says so.
 */
import type { Container, Pod, ResourceRequirements } from "#api/generated/core.v1.ts";
import { qosClassOf } from "#api/kinds/core/v1/pod/qos.ts";
import { compareAmounts } from "#api/kinds/core/v1/resources/resource-lists.ts";
import { type ContainerRun, latestRun, type PodRuntime } from "./pod-runtime.ts";
import { isSidecar } from "./restart.ts";

export interface PodAllocation {
  readonly podResources?: ResourceRequirements | undefined;
  readonly containers: Readonly<Record<string, ResourceRequirements>>;
}

const RESIZABLE = ["cpu", "memory"];

/** What the spec asks for. */
export function allocationOf({ spec }: Pod): PodAllocation {
  const named = resizableContainers({ spec }).map(({ name, resources }) => [name, resources ?? {}]);
  return {
    ...(spec.resources === undefined ? {} : { podResources: spec.resources }),
    containers: Object.fromEntries(named),
  };
}

/** The pod as the node runs it. */
export function withAllocation(pod: Pod, allocation: PodAllocation | undefined): Pod {
  if (allocation === undefined || !isResizeWanted(pod, allocation)) return pod;
  const replace = (container: Container): Container => {
    const resources = allocation.containers[container.name];
    return resources === undefined ? container : { ...container, resources };
  };
  const { initContainers, containers, resources: _, ...spec } = pod.spec;
  return {
    ...pod,
    spec: {
      ...spec,
      ...(initContainers ? { initContainers: initContainers.map(replace) } : {}),
      containers: (containers ?? []).map(replace),
      ...(allocation.podResources === undefined ? {} : { resources: allocation.podResources }),
    },
  };
}

/** Whether the spec asks for other amounts of cpu or memory than were allocated. */
export function isResizeWanted(pod: Pod, allocation: PodAllocation): boolean {
  const wanted = allocationOf(pod);
  if (!isSame(wanted.podResources, allocation.podResources)) return true;
  return Object.entries(wanted.containers).some(
    ([name, resources]) =>
      allocation.containers[name] !== undefined && !isSame(resources, allocation.containers[name]),
  );
}

/** Why a resize can never be carried out: pinned CPUs and memory of Guaranteed pods stay as they are. */
export function whyInfeasible(
  pod: Pod,
  { containers }: PodAllocation,
  policies: { readonly cpuManagerPolicy: string; readonly memoryManagerPolicy: string },
): string | undefined {
  if (qosClassOf(pod.spec) !== "Guaranteed") return undefined;
  const isChanged = (resource: string): boolean =>
    resizableContainers(pod).some(({ name, resources }) =>
      changedResources(resources, containers[name]).includes(resource),
    );
  const words = "Resize is infeasible for Guaranteed Pods alongside";
  if (policies.cpuManagerPolicy === "static" && isChanged("cpu")) {
    return `${words} CPU Manager policy "static"`;
  }
  if (policies.memoryManagerPolicy === "Static" && isChanged("memory")) {
    return `${words} Memory Manager policy "Static"`;
  }
  return undefined;
}

export interface ContainerResize {
  readonly container: Container;
  readonly run: ContainerRun;
  /** The run ends, and the next one is made with the new amounts. */
  readonly restart: boolean;
}

/** Running containers that have other amounts than the pod as it should run. */
export function decideContainerResizes(
  pod: Pod,
  runtime: PodRuntime,
  actuated: PodAllocation | undefined,
): ContainerResize[] {
  const isPodResized = isPodLevelResize(pod, actuated);
  return resizableContainers(pod).flatMap((container) => {
    const run = latestRun(runtime, container.name);
    if (run?.state !== "running") return [];
    const has = actuated?.containers[container.name];
    const changed = changedResources(container.resources, has);
    if (changed.length === 0 && !isPodResized) return [];
    // Without a record of what it has, it is given what it should have, and not restarted.
    const restart =
      has !== undefined &&
      changed.some((name) =>
        (container.resizePolicy ?? []).some(
          (policy) => policy.resourceName === name && policy.restartPolicy === "RestartContainer",
        ),
      );
    return [{ container, run, restart }];
  });
}

/** Whether the pod as a whole has other amounts than it should have. */
export function isPodLevelResize({ spec }: Pod, actuated: PodAllocation | undefined): boolean {
  return !isSame(spec.resources, actuated?.podResources);
}

/** The body of the events ResizeStarted, ResizeCompleted, ResizeDeferred …, as upstream writes it. */
export function resizeSummary(pod: Pod, error = ""): string {
  const list = (containers: readonly Container[] | null | undefined): object[] | undefined => {
    const entries = (containers ?? []).map(({ name, resources = {} }) => ({ name, resources }));
    return entries.length === 0 ? undefined : entries;
  };
  const { generation = 0 } = pod.metadata;
  return JSON.stringify({
    initContainers: list(pod.spec.initContainers),
    containers: list(pod.spec.containers),
    generation,
    ...(error === "" ? {} : { error }),
  });
}

function resizableContainers({ spec }: Pick<Pod, "spec">): Container[] {
  return [...(spec.initContainers ?? []).filter(isSidecar), ...(spec.containers ?? [])];
}

function changedResources(
  wanted: ResourceRequirements | undefined,
  has: ResourceRequirements | undefined,
): string[] {
  return RESIZABLE.filter(
    (name) =>
      isOther(wanted?.requests?.[name], has?.requests?.[name]) ||
      isOther(wanted?.limits?.[name], has?.limits?.[name]),
  );
}

function isSame(a: ResourceRequirements | undefined, b: ResourceRequirements | undefined): boolean {
  return changedResources(a, b).length === 0;
}

function isOther(a = "0", b = "0"): boolean {
  return compareAmounts(a, b) !== 0;
}
