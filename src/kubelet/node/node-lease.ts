/** The heartbeat of a node: its Lease in kube-node-lease, renewed four times within its duration. */
import type { Lease } from "#api/generated/coordination.v1.ts";
import { leaseKind } from "#api/kinds/coordination/v1/lease.ts";
import { microTimeFromMs } from "#api/meta/time.ts";
import type { Client } from "#client/client.ts";
import { messageOf } from "#lib/caught.ts";
import type { Logger } from "#lib/logger.ts";
import type { Clock } from "#lib/time/clock.ts";

const NAMESPACE = "kube-node-lease";
const RENEWS_PER_LIFE = 4;
const RETRY_MS = 200;
const RETRY_MAX_MS = 7_000;

export interface NodeLeaseOptions {
  readonly client: Client;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly nodeName: string;
  readonly durationSeconds: number;
  /** The node owns its lease, so that it goes with the node. */
  nodeUid(): string | undefined;
}

export async function runNodeLease(options: NodeLeaseOptions, signal: AbortSignal): Promise<void> {
  const { clock, logger, durationSeconds } = options;
  let held: Lease | undefined;
  let retryMs = RETRY_MS;
  while (!signal.aborted) {
    let waitMs = (durationSeconds * 1000) / RENEWS_PER_LIFE;
    try {
      held = await renew(options, held, signal);
      retryMs = RETRY_MS;
    } catch (error) {
      if (signal.aborted) return;
      logger.warn("the node's lease was not renewed", { why: messageOf(error) });
      held = undefined;
      waitMs = retryMs;
      retryMs = Math.min(retryMs * 2, RETRY_MAX_MS);
    }
    await clock.sleep(waitMs, signal).catch(() => undefined);
  }
}

async function renew(
  options: NodeLeaseOptions,
  held: Lease | undefined,
  signal: AbortSignal,
): Promise<Lease> {
  const { client, clock, nodeName } = options;
  const key = { namespace: NAMESPACE, name: nodeName };
  let lease = held;
  if (lease === undefined) {
    const found = await client.get(leaseKind, key, signal);
    if (found.ok) lease = found.value;
    else if (found.status.code !== 404) throw new Error(found.status.message);
  }
  const uid = options.nodeUid();
  const spec = {
    ...lease?.spec,
    holderIdentity: nodeName,
    leaseDurationSeconds: options.durationSeconds,
    renewTime: microTimeFromMs(clock.nowMs()),
  };
  const owner = { apiVersion: "v1", kind: "Node", name: nodeName, uid: uid ?? "" };
  const next: Lease = {
    apiVersion: "coordination.k8s.io/v1",
    kind: "Lease",
    metadata: { ...lease?.metadata, ...key, ...(uid ? { ownerReferences: [owner] } : {}) },
    spec,
  };
  const answer =
    lease === undefined
      ? await client.create(leaseKind, next, {}, signal)
      : await client.update(leaseKind, next, {}, signal);
  if (!answer.ok) throw new Error(answer.status.message);
  return answer.value;
}
