/** Ends everything that a runtime runs: for a node that is switched off. */
import type { CriClient } from "../cri/cri-client.ts";

/** Stops and removes all sandboxes at the same time; what fails is left for the next start. */
export async function stopSandboxes({ runtime }: CriClient, timeoutMs: number): Promise<void> {
  const { items } = await runtime.listPodSandbox({}, { timeoutMs });
  await Promise.allSettled(
    items.map(async ({ id: podSandboxId }) => {
      await runtime.stopPodSandbox({ podSandboxId }, { timeoutMs });
      await runtime.removePodSandbox({ podSandboxId }, { timeoutMs });
    }),
  );
}
