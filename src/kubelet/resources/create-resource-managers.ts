/** The managers of CPUs, memory and topology, as the configuration asks for them. */
import { goQuote } from "#api/meta/go-quote.ts";
import {
  addQuantities,
  formatQuantity,
  quantityMilliValue,
  quantityOf,
} from "#api/meta/quantity.ts";
import { type MachineLayout, readMachineLayout } from "#host/cpu-topology.ts";
import type { MachineFacts } from "#host/machine.ts";
import { type CpuPolicy, createCpuPolicy } from "#kubelet/decide/resources/cpu-policy.ts";
import { formatCpuSet, parseCpuSet } from "#kubelet/decide/resources/cpu-set.ts";
import { type CpuTopology, cpuTopology } from "#kubelet/decide/resources/cpu-topology.ts";
import { initialMemory, type MachineMemoryState } from "#kubelet/decide/resources/memory-state.ts";
import {
  cpuPolicyOptions,
  topologyPolicyOptions,
} from "#kubelet/decide/resources/policy-options.ts";
import { reservedMemory } from "#kubelet/decide/resources/reserved-memory.ts";
import type { MergeOptions, TopologyPolicy } from "#kubelet/decide/resources/topology-hints.ts";
import type { KubeletConfig } from "#kubelet/kubelet-config.ts";
import type { ManagerMetrics } from "#kubelet/node/manager-metrics.ts";
import type { Logger } from "#lib/logger.ts";
import type { Clock } from "#lib/time/clock.ts";
import { CpuManager } from "./cpu-manager.ts";
import type { HintProvider } from "./hint-provider.ts";
import { MemoryManager } from "./memory-manager.ts";
import { TopologyManager } from "./topology-manager.ts";

export interface ResourceManagers {
  readonly cpus: CpuManager;
  readonly memory: MemoryManager;
  readonly topology: TopologyManager;
}

export interface ResourceManagersOptions {
  readonly config: KubeletConfig;
  readonly machine: MachineFacts;
  /** Devices of plug-ins, which are allocated first. */
  readonly devices: HintProvider & { setNumaNodes(nodes: readonly number[]): void };
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: ManagerMetrics;
  onShared(): void;
}

/** Throws with upstream's message where the machine cannot do what the configuration asks for. */
export async function createResourceManagers(
  options: ResourceManagersOptions,
): Promise<ResourceManagers> {
  const { config, machine, devices, clock, logger, metrics } = options;
  const layout = await readMachineLayout(machine.memoryBytes, parseCpuSet);
  const nodes = layout.nodes.map(({ id }) => id);
  const merge = mergeOptions(config, layout);
  const { rootDir: folder } = config;
  const cpus = new CpuManager({
    ...{ policy: cpuPolicy(config, layout), folder, metrics, onShared: options.onShared },
    onWriteFailed: (why) => logger.warn("cpu_manager_state was not written", { why }),
  });
  const memory = new MemoryManager({
    ...{ initial: memoryOf(config, machine, layout), folder, metrics },
    onWriteFailed: (why) => logger.warn("memory_manager_state was not written", { why }),
  });
  devices.setNumaNodes(nodes);
  await cpus.load();
  await memory.load();
  const scope = config.topologyManagerScope === "pod" ? "pod" : "container";
  const providers = [devices, cpus, memory];
  const topology = new TopologyManager({ providers, merge, scope, clock, metrics });
  metrics.countCpus(() => cpus.counts(layout.cpus));
  return { cpus, memory, topology };
}

/** What the node keeps back: for the system, for Kubernetes, and as its hard eviction threshold. */
function nodeReservation(
  { systemReserved, kubeReserved, evictionHard }: KubeletConfig,
  memoryBytes: number,
): Record<string, string> {
  const threshold = evictionHard["memory.available"];
  const kept = threshold?.endsWith("%")
    ? String(Math.floor((memoryBytes * Number(threshold.slice(0, -1))) / 100))
    : threshold;
  const lists = [systemReserved, kubeReserved, kept === undefined ? {} : { memory: kept }];
  const sums: Record<string, string> = {};
  for (const list of lists) {
    for (const [name, amount] of Object.entries(list)) {
      sums[name] = formatQuantity(addQuantities(quantityOf(sums[name] ?? "0"), quantityOf(amount)));
    }
  }
  return sums;
}

function mergeOptions(
  { topologyManagerPolicy, topologyManagerPolicyOptions }: KubeletConfig,
  { nodes }: MachineLayout,
): MergeOptions | undefined {
  const policy = topologyManagerPolicy as TopologyPolicy;
  if (policy === "none") return undefined;
  const { preferClosest, numaNodesMax } = topologyPolicyOptions(topologyManagerPolicyOptions);
  if (nodes.length > numaNodesMax) {
    throw new Error(`unsupported on machines with more than ${numaNodesMax} NUMA Nodes`);
  }
  const distances = new Map(nodes.map((node) => [node.id, node.distances]));
  return { policy, preferClosest, numa: { nodes: nodes.map(({ id }) => id), distances } };
}

function cpuPolicy(config: KubeletConfig, layout: MachineLayout): CpuPolicy | undefined {
  const { cpuManagerPolicy, cpuManagerPolicyOptions, reservedSystemCpus } = config;
  if (cpuManagerPolicy === "none") {
    if (Object.keys(cpuManagerPolicyOptions).length > 0) {
      throw new Error(
        `new none policy error: None policy: received unsupported options=${goMap(cpuManagerPolicyOptions)}`,
      );
    }
    return undefined;
  }
  if (cpuManagerPolicy !== "static")
    throw new Error(`unknown policy: ${goQuote(cpuManagerPolicy)}`);
  const reserved = nodeReservation(config, 0).cpu;
  if (reserved === undefined) {
    throw new Error("[cpumanager] unable to determine reserved CPU resources for static policy");
  }
  const milli = quantityMilliValue(quantityOf(reserved));
  if (milli === 0) {
    throw new Error(
      "[cpumanager] the static policy requires systemreserved.cpu + kubereserved.cpu to be greater than zero",
    );
  }
  const topology = topologyOf(layout);
  try {
    return createCpuPolicy(
      topology,
      Math.ceil(milli / 1000),
      parseCpuSet(reservedSystemCpus),
      cpuPolicyOptions(cpuManagerPolicyOptions),
    );
  } catch (error) {
    throw new Error(`new static policy error: ${(error as Error).message}`);
  }
}

/** `map[a:b c:d]`, as Go prints a map. */
function goMap(map: Readonly<Record<string, string>>): string {
  const pairs = Object.entries(map).sort(([a], [b]) => (a < b ? -1 : 1));
  return `map[${pairs.map(([name, value]) => `${name}:${value}`).join(" ")}]`;
}

function topologyOf({ cpus }: MachineLayout): CpuTopology {
  return cpuTopology(
    cpus.map(({ cpu, siblings, socket, numaNode, cache }) => {
      const core = parseCpuSet(siblings)[0] ?? cpu;
      return { cpu, core, socket, numaNode, uncoreCache: cache ?? socket };
    }),
  );
}

function memoryOf(
  config: KubeletConfig,
  machine: MachineFacts,
  { nodes }: MachineLayout,
): MachineMemoryState | undefined {
  const { memoryManagerPolicy: policy } = config;
  if (policy === "None") return undefined;
  if (policy === "BestEffort") {
    throw new Error('policy "BestEffort" is not available for platform "linux"');
  }
  if (policy !== "Static") throw new Error(`unknown policy: ${goQuote(policy)}`);
  const reserved = nodeReservation(config, machine.memoryBytes);
  const ids = nodes.map(({ id }) => id);
  return initialMemory(nodes, reservedMemory(ids, config.reservedMemory, reserved));
}

/** reservedSystemCPUs replaces the cpu of kubeReserved and systemReserved. */
export function withReservedCpus(config: KubeletConfig): KubeletConfig {
  const cpus = parseCpuSet(config.reservedSystemCpus);
  if (cpus.length === 0) return config;
  const { cpu: _, ...kubeReserved } = config.kubeReserved;
  const systemReserved = { ...config.systemReserved, cpu: String(cpus.length) };
  return { ...config, kubeReserved, systemReserved, reservedSystemCpus: formatCpuSet(cpus) };
}
