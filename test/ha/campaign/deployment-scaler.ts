/** Gives controllers and schedulers something to do: a Deployment whose replicas change all the time, and nodes that take its pods. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Random } from "#lib/random.ts";
import type { LoadClient } from "./load-client.ts";

const DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments";
const NAME = "churn";
const REPLICAS_MAX = 5;
const EVERY_MS = 500;
const NODES = ["node-0", "node-1"];

export async function runDeploymentScaler(
  client: LoadClient,
  random: Random,
  signal: AbortSignal,
): Promise<void> {
  const resources = { cpu: "8", memory: "16Gi", pods: "110" };
  const status = { capacity: resources, allocatable: resources };
  for (const name of NODES) {
    await untilDone(client, "/api/v1/nodes", { metadata: { name }, status }, signal);
  }
  await untilDone(client, DEPLOYMENTS, deployment(), signal);
  while (!signal.aborted) {
    await client.ask({
      ...{ method: "PATCH", path: `${DEPLOYMENTS}/${NAME}` },
      contentType: "application/merge-patch+json",
      body: { spec: { replicas: 1 + random.integer(REPLICAS_MAX) } },
    });
    await sleep(EVERY_MS, undefined, { signal }).catch(() => undefined);
  }
}

async function untilDone(
  client: LoadClient,
  path: string,
  body: object,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    const { code } = await client.ask({ method: "POST", path, body });
    if (code === 201 || code === 409) return;
    await sleep(100);
  }
}

/** Its pods go to nodes without a kubelet, too, and need no service account. */
function deployment(): object {
  const labels = { app: NAME };
  const spec = {
    tolerations: [{ operator: "Exists" }],
    automountServiceAccountToken: false,
    terminationGracePeriodSeconds: 0,
    containers: [{ name: "main", image: "none" }],
  };
  return {
    metadata: { name: NAME },
    spec: {
      replicas: 1,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec },
    },
  };
}
