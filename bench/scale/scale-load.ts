/** Deployments of simulated pods, and what the cluster does while they start. */
import type { Deployment } from "#api/generated/apps.v1.ts";
import { deploymentKind } from "#api/kinds/apps/v1/deployment.ts";
import { nodeKind } from "#api/kinds/core/v1/node/node.ts";
import type { Client } from "#client/client.ts";
import { systemClock } from "#lib/time/system-clock.ts";
import { completed } from "#testing/build.ts";

export const PODS_PER_DEPLOYMENT = 500;
const POLL_MS = 250;
const PROBE_PAUSE_MS = 20;

export async function createDeployments(client: Client, first: number, count: number) {
  for (let index = first; index < first + count; index++) {
    const created = await client.create(deploymentKind, deployment(`web-${index}`));
    if (!created.ok) throw new Error(created.status.message);
  }
}

/** Resolves when so many pods are ready; asks for Deployments only, which are few. */
export async function untilReady(client: Client, pods: number, limitMs: number): Promise<void> {
  const endMs = performance.now() + limitMs;
  for (;;) {
    const listed = await client.list(deploymentKind, { namespace: "default" });
    if (!listed.ok) throw new Error(listed.status.message);
    const ready = listed.value.items.reduce((sum, d) => sum + (d.status?.readyReplicas ?? 0), 0);
    if (ready >= pods) return;
    if (performance.now() > endMs) throw new Error(`${ready} of ${pods} pods are ready`);
    await systemClock.sleep(POLL_MS);
  }
}

/** How long a GET takes while the cluster works: the 99th percentile, in milliseconds. */
export async function probeGets(client: Client, signal: AbortSignal): Promise<number> {
  const took: number[] = [];
  while (!signal.aborted) {
    const startMs = performance.now();
    const node = await client.get(nodeKind, { name: "sim-0" });
    if (node.ok) took.push(performance.now() - startMs);
    await systemClock.sleep(PROBE_PAUSE_MS);
  }
  took.sort((a, b) => a - b);
  return took[Math.floor(took.length * 0.99)] ?? Number.NaN;
}

/** Nodes whose condition Ready is not True. */
export async function lostNodes(client: Client): Promise<number> {
  const listed = await client.list(nodeKind, {});
  if (!listed.ok) throw new Error(listed.status.message);
  return listed.value.items.filter(
    ({ status }) => !status.conditions?.some((c) => c.type === "Ready" && c.status === "True"),
  ).length;
}

function deployment(name: string): Deployment {
  const labels = { app: name };
  return completed(deploymentKind, {
    metadata: { name, namespace: "default" },
    spec: {
      replicas: PODS_PER_DEPLOYMENT,
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: {
          containers: [
            {
              ...{ name: "web", image: "web" },
              resources: { requests: { cpu: "100m", memory: "64Mi" } },
            },
          ],
        },
      },
    },
  }) as Deployment;
}
