/** Removes what the runtime keeps of a pod that is gone, and its logs. */
import type { Pod } from "#api/generated/core.v1.ts";
import { removeTree } from "#host/files.ts";
import type { PodRuntime } from "#kubelet/decide/pod-runtime.ts";
import { podLogFolder } from "./pod-paths.ts";
import type { PodServices } from "./pod-services.ts";

export async function removePod(
  pod: Pod,
  { runs, sandboxes }: PodRuntime,
  { runtime, paths, index }: PodServices,
): Promise<void> {
  for (const { id } of runs) await runtime.removeContainer({ containerId: id });
  for (const { id } of sandboxes) await runtime.removePodSandbox({ podSandboxId: id });
  await removeTree(podLogFolder(paths, pod));
  index.remove(pod.metadata.uid ?? "");
}
