/**
 * Which CPUs, memory, devices and dynamic resources containers have of their own, in the form of the
 * pod resources API. Containers that share everything have an entry with nothing in it.
 */
import type { Container, Pod } from "#api/generated/core.v1.ts";
import type { MemoryBlock } from "#kubelet/decide/resources/memory-state.ts";
import { isSidecar } from "#kubelet/decide/restart.ts";
import type {
  ContainerDevices,
  ContainerMemory,
  ContainerResources,
  DynamicResource,
  PodResources,
} from "./pod-resources-messages.ts";

/** A device of a plug-in. `numaNodes`: undefined where the plug-in reports no topology. */
export interface KnownDevice {
  readonly resource: string;
  readonly id: string;
  readonly numaNodes: readonly number[] | undefined;
}

/** What the managers know; each list is for the container alone. */
export interface ResourceSources {
  exclusiveCpus(uid: string, container: string): readonly number[];
  memory(uid: string, container: string): readonly MemoryBlock[];
  devices(uid: string, container: string): readonly KnownDevice[];
  dynamicResources(pod: Pod, container: Container): readonly DynamicResource[];
}

/** App containers and sidecars; other init containers have ended or will. */
export function describePod(pod: Pod, sources: ResourceSources): PodResources {
  const { name = "", namespace = "" } = pod.metadata;
  const sidecars = (pod.spec.initContainers ?? []).filter(isSidecar);
  const containers = [...sidecars, ...(pod.spec.containers ?? [])];
  return { name, namespace, containers: containers.map((one) => describe(pod, one, sources)) };
}

function describe(pod: Pod, container: Container, sources: ResourceSources): ContainerResources {
  const uid = pod.metadata.uid ?? "";
  const { name } = container;
  return {
    name,
    devices: devicesMessage(sources.devices(uid, name)),
    cpuIds: sources.exclusiveCpus(uid, name),
    memory: memoryMessage(sources.memory(uid, name)),
    dynamicResources: sources.dynamicResources(pod, container),
  };
}

/** One entry for each device and NUMA node of it. */
export function devicesMessage(devices: readonly KnownDevice[]): ContainerDevices[] {
  return devices.flatMap(({ resource: resourceName, id, numaNodes }): ContainerDevices[] => {
    const entry = { resourceName, deviceIds: [id] };
    if (numaNodes === undefined) return [entry];
    return numaNodes.map((node) => ({ ...entry, topology: topologyOf([node]) }));
  });
}

export function memoryMessage(blocks: readonly MemoryBlock[]): ContainerMemory[] {
  return blocks.map(({ type, size, numaAffinity }) => ({
    ...{ memoryType: type, size },
    topology: topologyOf(numaAffinity),
  }));
}

function topologyOf(nodes: readonly number[]): {
  readonly nodes: readonly { readonly id: number }[];
} {
  return { nodes: nodes.map((id) => ({ id })) };
}
