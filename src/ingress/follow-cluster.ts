/** Keeps the data plane, the Events and the status of Ingresses equal to what the cluster says. */
import type { IngressLoadBalancerIngress } from "#api/generated/networking.v1.ts";
import type { Client } from "#client/client.ts";
import { ServerEventRecorder } from "#client/event-recorder.ts";
import { untilAborted } from "#lib/async/aborted.ts";
import { messageOf } from "#lib/caught.ts";
import type { Logger } from "#lib/logger.ts";
import type { Clock } from "#lib/time/clock.ts";
import type { ClusterState } from "./cluster-state.ts";
import type { RunningDataPlane } from "./data-plane/start-data-plane.ts";
import { ProblemEvents } from "./status/problem-events.ts";
import { publishStatus } from "./status/publish-status.ts";

/** The address of a Service of type LoadBalancer (`namespace/name`), or fixed ones. */
export type PublishedAddress =
  | { readonly service: string }
  | { readonly addresses: readonly IngressLoadBalancerIngress[] };

export interface FollowClusterOptions {
  readonly client: Client;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly publish: PublishedAddress;
  readonly world: ClusterState;
  readonly plane: RunningDataPlane;
  /** Called after each new routing table. */
  onTable(): void;
}

/** Changes that come together make one table. */
const GATHER_MS = 20;
/** A status that could not be written is tried again after this long. */
const RETRY_MS = 5_000;

/** Lives until the signal aborts. */
export async function followCluster(
  { client, clock, logger, publish, world, plane, onTable }: FollowClusterOptions,
  signal: AbortSignal,
): Promise<void> {
  const recorder = new ServerEventRecorder(client, clock, logger);
  const recording = recorder.run(signal);
  const events = new ProblemEvents(recorder);
  const end = untilAborted(signal);
  await Promise.race([world.synced, end]);
  while (!signal.aborted) {
    world.changed.reset();
    events.report(world.update());
    onTable();
    plane.retain((authority) => world.isEndpoint(authority));
    try {
      await plane.update?.();
    } catch (error) {
      if (!signal.aborted)
        logger.error("the data plane does not take the routes", { error: messageOf(error) });
    }
    const addresses =
      "addresses" in publish
        ? publish.addresses
        : (world.service(publish.service)?.status.loadBalancer.ingress ?? []);
    const isWritten = await publishStatus({ client, logger }, world.accepted, addresses, signal);
    const retry = new AbortController();
    const late = isWritten ? [] : [clock.sleep(RETRY_MS, retry.signal).catch(() => undefined)];
    await Promise.race([world.changed.woken, end, ...late]);
    retry.abort();
    await clock.sleep(GATHER_MS, signal).catch(() => undefined);
  }
  await Promise.all([recording, world.ended]);
}
