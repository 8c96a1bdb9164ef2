/**
 * The memory manager: from which NUMA nodes containers of Guaranteed pods get their memory.
 *
 * Promises:
 * 1. `memory_manager_state` in the kubelet's folder, in upstream's form, has every allocation before
 *    the pod is admitted. A file that does not fit the policy or the machine ends the kubelet's start.
 * 2. Under the policy `None` containers are not bound to NUMA nodes.
 */
import { join } from "node:path";
import type { Container, Pod } from "#api/generated/core.v1.ts";
import { qosClassOf } from "#api/kinds/core/v1/pod/qos.ts";
import {
  allocateMemory,
  endedInitContainers,
  memoryHints,
  podMemoryHints,
  type ReusableMemory,
  releaseMemory,
} from "#kubelet/decide/resources/memory-policy.ts";
import {
  checkMemoryState,
  type MachineMemoryState,
  type MemoryBlock,
  type MemoryState,
  NO_MEMORY,
} from "#kubelet/decide/resources/memory-state.ts";
import type { ProviderHints, TopologyHint } from "#kubelet/decide/resources/topology-hints.ts";
import type { ManagerMetrics } from "#kubelet/node/manager-metrics.ts";
import { CheckpointWriter } from "./checkpoint-writer.ts";
import type { HintProvider } from "./hint-provider.ts";
import { memoryCheckpointText, parseMemoryCheckpoint } from "./memory-checkpoint.ts";

export interface MemoryManagerOptions {
  /** The machine's memory without allocations. Undefined: the policy `None`. */
  readonly initial: MachineMemoryState | undefined;
  readonly folder: string;
  readonly metrics: Pick<ManagerMetrics, "memoryPinning" | "memoryPinningFailed">;
  onWriteFailed(why: string): void;
}

export class MemoryManager implements HintProvider {
  readonly #options: MemoryManagerOptions;
  readonly #file: CheckpointWriter;
  #state: MemoryState = NO_MEMORY;
  /** Of the pod that is being admitted. */
  #reusable: { readonly uid: string; readonly memory: ReusableMemory } = {
    uid: "",
    memory: new Map(),
  };

  constructor(options: MemoryManagerOptions) {
    this.#options = options;
    this.#file = new CheckpointWriter({
      path: join(options.folder, "memory_manager_state"),
      text: () => memoryCheckpointText(this.#policyName(), this.#state),
      onFailed: options.onWriteFailed,
    });
  }

  /** Before any pod is admitted. */
  async load(): Promise<void> {
    const { initial } = this.#options;
    const text = await this.#file.read();
    try {
      if (text !== undefined) this.#state = parseMemoryCheckpoint(this.#policyName(), text);
    } catch (error) {
      throw new Error(
        `could not restore state from checkpoint: ${(error as Error).message}, please drain this node and delete the memory manager checkpoint file ${JSON.stringify(this.#file.path)} before restarting Kubelet`,
      );
    }
    if (initial !== undefined) this.#state = checkMemoryState(this.#state, initial);
    if (text === undefined || initial !== undefined) await this.#file.save();
  }

  /** Memory that is the container's own. */
  blocksOf(uid: string, container: string): readonly MemoryBlock[] {
    return this.#state.assigned.get(uid)?.get(container) ?? [];
  }

  /** Of each NUMA node, whether it is allocated or not; none without a policy. */
  allocatableBlocks(): readonly MemoryBlock[] {
    if (this.#options.initial === undefined) return [];
    return [...this.#state.machine].flatMap(([node, { memory }]) =>
      [...memory]
        .filter(([, { allocatable }]) => allocatable > 0)
        .map(([type, { allocatable: size }]) => ({ numaAffinity: [node], type, size })),
    );
  }

  /** As `cpuset.mems` has it; undefined: all nodes. */
  memsOf(uid: string, container: string): string | undefined {
    const blocks = this.#state.assigned.get(uid)?.get(container) ?? [];
    const nodes = new Set(blocks.flatMap(({ numaAffinity }) => numaAffinity));
    return nodes.size === 0 ? undefined : [...nodes].sort((a, b) => a - b).join();
  }

  /** Init containers before it have ended: their memory is for others. */
  onStart(pod: Pod, container: string): void {
    if (this.#options.initial === undefined) return;
    const ended = endedInitContainers(pod, container);
    const next = releaseMemory(this.#state, pod.metadata.uid ?? "", ended);
    if (next === this.#state) return;
    this.#state = next;
    this.#file.saveLater();
  }

  concerns(pod: Pod): boolean {
    return this.#options.initial !== undefined && qosClassOf(pod.spec) === "Guaranteed";
  }

  containerHints(pod: Pod, container: Container): ProviderHints {
    if (this.#options.initial === undefined) return new Map();
    return memoryHints(this.#state, pod, container, this.#reusableOf(pod));
  }

  podHints(pod: Pod): ProviderHints {
    return this.#options.initial === undefined ? new Map() : podMemoryHints(this.#state, pod);
  }

  allocate(pod: Pod, container: Container, hint: TopologyHint): void {
    const { initial, metrics } = this.#options;
    if (initial === undefined || qosClassOf(pod.spec) !== "Guaranteed") return;
    metrics.memoryPinning();
    let given: ReturnType<typeof allocateMemory>;
    try {
      given = allocateMemory(this.#state, pod, container, hint, this.#reusableOf(pod));
    } catch (error) {
      metrics.memoryPinningFailed();
      throw error;
    }
    if (given === undefined) return;
    this.#state = given.state;
    this.#reusable = { uid: pod.metadata.uid ?? "", memory: given.reusable };
  }

  commit(): Promise<void> {
    return this.#file.save();
  }

  forget(uid: string): void {
    if (this.#options.initial === undefined || !this.#state.assigned.has(uid)) return;
    this.#state = releaseMemory(this.#state, uid);
    this.#file.saveLater();
  }

  forgetOthers(hasPod: (uid: string) => boolean): void {
    for (const uid of this.#state.assigned.keys()) if (!hasPod(uid)) this.forget(uid);
  }

  #policyName(): string {
    return this.#options.initial === undefined ? "None" : "Static";
  }

  #reusableOf({ metadata }: Pod): ReusableMemory {
    return this.#reusable.uid === metadata.uid ? this.#reusable.memory : new Map();
  }
}
