/**
 * The CPU manager: which containers have CPUs of their own, and which CPUs all others share.
 *
 * Promises:
 * 1. `cpu_manager_state` in the kubelet's folder, in upstream's form, has every allocation before the
 *    pod is admitted. A file that does not fit the policy or the machine ends the kubelet's start.
 * 2. Under the policy `none` containers are not bound to CPUs.
 */
import { join } from "node:path";
import type { Container, Pod } from "#api/generated/core.v1.ts";
import {
  allocateCpus,
  type CpuPolicy,
  type CpuState,
  checkCpuState,
  cpuHints,
  NO_CPUS,
  podCpuHints,
  releaseCpus,
} from "#kubelet/decide/resources/cpu-policy.ts";
import {
  type CpuSet,
  difference,
  formatCpuSet,
  isSameSet,
  union,
} from "#kubelet/decide/resources/cpu-set.ts";
import { guaranteedCpus } from "#kubelet/decide/resources/guaranteed-cpus.ts";
import type { ProviderHints, TopologyHint } from "#kubelet/decide/resources/topology-hints.ts";
import { isSidecar } from "#kubelet/decide/restart.ts";
import type { CpuCounts, ManagerMetrics } from "#kubelet/node/manager-metrics.ts";
import { CheckpointWriter } from "./checkpoint-writer.ts";
import { cpuCheckpointText, parseCpuCheckpoint } from "./cpu-checkpoint.ts";
import { containersOf, type HintProvider } from "./hint-provider.ts";

export interface CpuManagerOptions {
  /** Undefined: the policy `none`. */
  readonly policy: CpuPolicy | undefined;
  readonly folder: string;
  readonly metrics: Pick<ManagerMetrics, "cpuPinning" | "cpuPinningFailed">;
  /** The shared CPUs changed: containers that run on them must be updated. */
  onShared(): void;
  onWriteFailed(why: string): void;
}

export class CpuManager implements HintProvider {
  readonly #options: CpuManagerOptions;
  readonly #file: CheckpointWriter;
  #state: CpuState = NO_CPUS;
  /** Of the pod that is being admitted. */
  #reusable: { readonly uid: string; readonly cpus: CpuSet } = { uid: "", cpus: [] };

  constructor(options: CpuManagerOptions) {
    this.#options = options;
    const policy = options.policy === undefined ? "none" : "static";
    this.#file = new CheckpointWriter({
      path: join(options.folder, "cpu_manager_state"),
      text: () => cpuCheckpointText(policy, this.#state),
      onFailed: options.onWriteFailed,
    });
  }

  /** Before any pod is admitted. */
  async load(): Promise<void> {
    const { policy } = this.#options;
    const text = await this.#file.read();
    try {
      if (text !== undefined) {
        this.#state = parseCpuCheckpoint(policy === undefined ? "none" : "static", text);
      }
    } catch (error) {
      throw new Error(
        `could not restore state from checkpoint: ${(error as Error).message}, please drain this node and delete the CPU manager checkpoint file ${JSON.stringify(this.#file.path)} before restarting Kubelet`,
      );
    }
    if (policy !== undefined) this.#state = checkCpuState(policy, this.#state);
    if (text === undefined || policy !== undefined) await this.#file.save();
  }

  /** The CPUs that a container may run on; undefined: all. */
  cpusOf(uid: string, container: string): CpuSet | undefined {
    if (this.#options.policy === undefined) return undefined;
    return this.#state.assigned.get(uid)?.get(container) ?? this.#state.shared;
  }

  /** As `cpuset.cpus` has it. */
  cpusetOf(uid: string, container: string): string | undefined {
    const cpus = this.cpusOf(uid, container);
    return cpus === undefined ? undefined : formatCpuSet(cpus);
  }

  exclusiveCpus(uid: string, container: string): CpuSet {
    return this.#state.assigned.get(uid)?.get(container) ?? [];
  }

  /** All but the reserved ones; none without a policy. */
  allocatableCpus(): CpuSet {
    const { policy } = this.#options;
    if (policy === undefined) return [];
    const all = policy.topology.cpus.map(({ cpu }) => cpu);
    return difference(all, policy.reserved);
  }

  isExclusive(uid: string, container: string): boolean {
    return this.#state.assigned.get(uid)?.has(container) ?? false;
  }

  /** For metrics. Without a policy nothing is shared out. */
  counts(cpus: readonly { readonly cpu: number; readonly numaNode: number }[]): CpuCounts {
    const assigned = [...this.#state.assigned.values()].flatMap((one) => [...one.values()].flat());
    const byNumaNode = new Map(cpus.map(({ numaNode }) => [numaNode, 0]));
    for (const { cpu, numaNode } of cpus) {
      if (assigned.includes(cpu)) byNumaNode.set(numaNode, (byNumaNode.get(numaNode) ?? 0) + 1);
    }
    const hasPolicy = this.#options.policy !== undefined;
    const exclusive = new Set(assigned).size;
    const shared = hasPolicy ? this.#state.shared.length : 0;
    return { shared, exclusive, byNumaNode: hasPolicy ? byNumaNode : new Map() };
  }

  concerns(pod: Pod): boolean {
    if (this.#options.policy === undefined) return false;
    return containersOf(pod).some((one) => guaranteedCpus(pod, one) > 0);
  }

  containerHints(pod: Pod, container: Container): ProviderHints {
    const { policy } = this.#options;
    if (policy === undefined) return new Map();
    const hints = cpuHints(policy, this.#state, pod, container, this.#reusableOf(pod));
    return hints === undefined ? new Map() : new Map([["cpu", hints]]);
  }

  podHints(pod: Pod): ProviderHints {
    const { policy } = this.#options;
    const hints = policy === undefined ? undefined : podCpuHints(policy, this.#state, pod);
    return hints === undefined ? new Map() : new Map([["cpu", hints]]);
  }

  allocate(pod: Pod, container: Container, { affinity }: TopologyHint): void {
    const { policy, metrics } = this.#options;
    if (policy === undefined || guaranteedCpus(pod, container) === 0) return;
    metrics.cpuPinning();
    const reusable = this.#reusableOf(pod);
    let allocated: ReturnType<typeof allocateCpus>;
    try {
      allocated = allocateCpus(policy, this.#state, { pod, container, affinity, reusable });
    } catch (error) {
      metrics.cpuPinningFailed();
      throw error;
    }
    if (allocated === undefined) return;
    const isInit = (pod.spec.initContainers ?? []).includes(container) && !isSidecar(container);
    const { cpus } = allocated;
    this.#reusable = {
      uid: pod.metadata.uid ?? "",
      cpus: isInit ? union(reusable, cpus) : difference(reusable, cpus),
    };
    this.#replace(allocated.state);
  }

  commit(): Promise<void> {
    return this.#file.save();
  }

  forget(uid: string): void {
    const { policy } = this.#options;
    if (policy === undefined || !this.#state.assigned.has(uid)) return;
    this.#replace(releaseCpus(policy, this.#state, uid));
    this.#file.saveLater();
  }

  forgetOthers(hasPod: (uid: string) => boolean): void {
    for (const uid of this.#state.assigned.keys()) if (!hasPod(uid)) this.forget(uid);
  }

  #replace(state: CpuState): void {
    const isSame = isSameSet(state.shared, this.#state.shared);
    this.#state = state;
    if (!isSame) this.#options.onShared();
  }

  #reusableOf({ metadata }: Pod): CpuSet {
    return this.#reusable.uid === metadata.uid ? this.#reusable.cpus : [];
  }
}
