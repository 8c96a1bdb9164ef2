/** Capacity and allocatable amounts of the machine. */
import { diskSpace, type MachineFacts } from "#host/machine.ts";
import { allocatableOf } from "#kubelet/decide/node/node-status.ts";
import type { KubeletConfig } from "#kubelet/kubelet-config.ts";

export interface NodeAmounts {
  readonly capacity: Readonly<Record<string, string>>;
  readonly allocatable: Readonly<Record<string, string>>;
}

export async function nodeAmounts(
  machine: MachineFacts,
  config: KubeletConfig,
): Promise<NodeAmounts> {
  const { rootDir, systemReserved, kubeReserved, evictionHard } = config;
  const { totalBytes } = await diskSpace(rootDir);
  const pages = Object.entries(machine.hugePages).map(([name, bytes]) => [name, String(bytes)]);
  const capacity: Record<string, string> = {
    cpu: String(machine.cpus),
    memory: `${Math.floor(machine.memoryBytes / 1024)}Ki`,
    "ephemeral-storage": `${Math.floor(totalBytes / 1024)}Ki`,
    pods: String(podsMax(config, machine.cpus)),
    ...Object.fromEntries(pages),
  };
  const memory = evictionHard["memory.available"];
  const disk = evictionHard["nodefs.available"];
  const kept = {
    ...(memory === undefined ? {} : { memory: amountOf(memory, machine.memoryBytes) }),
    ...(disk === undefined ? {} : { "ephemeral-storage": amountOf(disk, totalBytes) }),
  };
  return { capacity, allocatable: allocatableOf(capacity, systemReserved, kubeReserved, kept) };
}

function podsMax({ maxPods, podsPerCore }: KubeletConfig, cpus: number): number {
  return podsPerCore > 0 ? Math.min(maxPods, podsPerCore * cpus) : maxPods;
}

function amountOf(threshold: string, total: number): string {
  if (!threshold.endsWith("%")) return threshold;
  return String(Math.floor((total * Number(threshold.slice(0, -1))) / 100));
}
