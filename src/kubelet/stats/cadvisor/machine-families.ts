/** The families of cAdvisor about the machine itself, under its names. Pure. */
import type { MachineFacts } from "#host/machine.ts";
import type { Family, Labels } from "../metric-text.ts";

/** How many processors there are, in which arrangement. */
export interface CpuCounts {
  readonly physicalCores: number;
  readonly sockets: number;
}

export function machineFamilies(machine: MachineFacts, cpus: CpuCounts): readonly Family[] {
  const { bootId, machineId, systemUuid, kernelVersion, osImage } = machine;
  const labels = { boot_id: bootId, machine_id: machineId, system_uuid: systemUuid };
  return [
    gauge(
      "cadvisor_version_info",
      "A metric with a constant '1' value labeled by kernel version, OS version, docker version, cadvisor version & cadvisor revision.",
      {
        ...{ cadvisorRevision: "", cadvisorVersion: "", dockerVersion: "" },
        ...{ kernelVersion, osVersion: osImage },
      },
      1,
    ),
    gauge("machine_cpu_cores", "Number of logical CPU cores.", labels, machine.cpus),
    gauge(
      "machine_cpu_physical_cores",
      "Number of physical CPU cores.",
      labels,
      cpus.physicalCores,
    ),
    gauge("machine_cpu_sockets", "Number of CPU sockets.", labels, cpus.sockets),
    gauge(
      "machine_memory_bytes",
      "Amount of memory installed on the machine.",
      labels,
      machine.memoryBytes,
    ),
    gauge(
      "machine_swap_bytes",
      "Amount of swap memory available on the machine.",
      labels,
      machine.swapBytes,
    ),
  ];
}

export function gauge(name: string, help: string, labels: Labels, value: number): Family {
  return { name, help, type: "gauge", samples: [{ labels, value }] };
}
