/**
 * Keeps the running containers of one pod on the CPUs that the CPU manager says: after a restart of
 * the kubelet, and whenever the shared CPUs change because another pod got or gave back its own.
 */
import type { Pod } from "#api/generated/core.v1.ts";
import type { PodRuntime } from "#kubelet/decide/pod-runtime.ts";
import type { PodServices } from "#kubelet/pods/pod-services.ts";
import { messageOf } from "#lib/caught.ts";

export class ContainerCpusets {
  readonly #services: PodServices;
  /** By container id. */
  #applied: ReadonlyMap<string, string> = new Map();

  constructor(services: PodServices) {
    this.#services = services;
  }

  /** Answers when to try again, if it failed. */
  async apply({ metadata }: Pod, { runs }: PodRuntime): Promise<number | undefined> {
    const { resources, runtime, logger, clock, node } = this.#services;
    const next = new Map<string, string>();
    let hasFailed = false;
    for (const { id, name, state } of runs) {
      if (state !== "running") continue;
      const wanted = resources.cpus.cpusetOf(metadata.uid ?? "", name);
      if (wanted === undefined || wanted === "") continue;
      if (this.#applied.get(id) !== wanted) {
        try {
          const linux = { cpusetCpus: wanted };
          await runtime.updateContainerResources({ containerId: id, linux });
        } catch (error) {
          hasFailed = true;
          const why = messageOf(error);
          logger.warn("a container's cpuset was not changed", { pod: metadata.name, name, why });
          continue;
        }
      }
      next.set(id, wanted);
    }
    this.#applied = next;
    return hasFailed ? clock.elapsedMs() + node.cpuReconcileMs : undefined;
  }
}
