/** How fast a Deployment gets its pods, and loses them, over one connection to an API server. */

import type { Requester } from "./load.ts";
import { get, post } from "./pods.ts";

const NAMESPACE = "made";
const DEPLOYMENTS = `/apis/apps/v1/namespaces/${NAMESPACE}/deployments`;
/** Often enough to see the end, seldom enough to cost little. */
const LOOK_EVERY_MS = 20;
const WITHIN_MS = 120_000;

export interface DeploymentRates {
  readonly created: number;
  readonly collected: number;
}

/** Pods a second, from the request until all are there, and from the deletion until none is. */
export async function deploymentRates(
  asker: Requester,
  name: string,
  replicas: number,
): Promise<DeploymentRates> {
  const labels = { app: name };
  const container = { name: "c", image: "busybox" };
  const deployment = {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name },
    spec: {
      replicas,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [container] } },
    },
  };
  const created = await rate(asker, replicas, replicas, () =>
    asker.ask(post(DEPLOYMENTS, JSON.stringify(deployment))),
  );
  const collected = await rate(asker, replicas, 0, () =>
    asker.ask({ method: "DELETE", path: `${DEPLOYMENTS}/${name}` }),
  );
  return { created, collected };
}

/** A namespace with the account that pods need. Managers may have made the account already. */
export async function makeNamespace(asker: Requester): Promise<void> {
  await asker.ask(post("/api/v1/namespaces", JSON.stringify({ metadata: { name: NAMESPACE } })));
  const accounts = `/api/v1/namespaces/${NAMESPACE}/serviceaccounts`;
  const account = JSON.stringify({ metadata: { name: "default" } });
  await asker.ask(post(accounts, account)).catch((error: Error) => {
    if (!error.message.startsWith("409")) throw error;
  });
}

async function rate(
  asker: Requester,
  count: number,
  until: number,
  begin: () => Promise<unknown>,
): Promise<number> {
  const startMs = performance.now();
  await begin();
  for (let tookMs = 0; tookMs < WITHIN_MS; ) {
    const there = await podCount(asker);
    tookMs = performance.now() - startMs;
    if (there === until) return (count / tookMs) * 1000;
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
  }
  throw new Error(`not ${until} pods within ${WITHIN_MS} ms`);
}

/** Read from the beginning of the text: upstream sends it in chunks, whose lengths stand in between. */
async function podCount(asker: Requester): Promise<number> {
  const path = `/api/v1/namespaces/${NAMESPACE}/pods?limit=1`;
  const text = (await asker.ask({ ...get(path), keep: true })).toString();
  if (text.includes('"items":[]')) return 0;
  return 1 + Number(/"remainingItemCount":(\d+)/.exec(text)?.[1] ?? 0);
}
