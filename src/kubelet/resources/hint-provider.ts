/** What the topology manager asks of the managers of devices, CPUs and memory. */
import type { Container, Pod } from "#api/generated/core.v1.ts";
import type { ProviderHints, TopologyHint } from "#kubelet/decide/resources/topology-hints.ts";
import type { MaybePromise } from "#lib/async/maybe-promise.ts";

export interface HintProvider {
  /** Whether it has anything to allocate to the pod. */
  concerns(pod: Pod): boolean;
  containerHints(pod: Pod, container: Container): ProviderHints;
  podHints(pod: Pod): ProviderHints;
  /** Containers of a pod come in the order in which they run. Throws to refuse the pod. */
  allocate(pod: Pod, container: Container, hint: TopologyHint): MaybePromise<void>;
  /** All containers have what they need: it is written to the disk. */
  commit(): Promise<void>;
  /** Gives back what the pod was allocated. */
  forget(uid: string): void;
}

export function containersOf({ spec }: Pod): Container[] {
  return [...(spec.initContainers ?? []), ...(spec.containers ?? [])];
}
