/** Everything that a fresh cluster has, made or brought up to date at every start. */

import type { Logger } from "#lib/logger.ts";
import type { Random } from "#lib/random.ts";
import type { Clock } from "#lib/time/clock.ts";
import type { Store } from "#store/contract.ts";
import {
  reconcileAccess,
  reconcileFlowControl,
  reconcilePriorityClasses,
} from "../bootstrap/reconcile.ts";
import type { Discovery } from "../discovery/discovery.ts";
import { runFlowSchemaStatus } from "../flow/flow-schema-status.ts";
import type { StartStep } from "../health/start-hooks.ts";
import type { PortAllocator } from "../services/port-allocator.ts";
import { runServiceRepair } from "../services/run-repair.ts";
import type { Objects } from "../storage/objects.ts";
import { ensureApiServices } from "./api-services.ts";
import { runIdentityLease } from "./identity-lease.ts";
import { type Announcement, ensureKubernetesService } from "./kubernetes-service.ts";
import type { Loopback } from "./loopback.ts";
import { keepPublished, type PublishedConfig, publishConfig } from "./published-config.ts";
import { ensureSystemNamespaces, keepSystemNamespaces } from "./system-namespaces.ts";

export interface BootstrapOptions {
  readonly objects: Objects;
  readonly loopback: Loopback;
  readonly discovery: Discovery;
  readonly store: Store;
  readonly storeIsShared: boolean;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly hostname: string;
  readonly identityRenewMs?: number;
  /** Keeps this server among the endpoints of the `kubernetes` Service. */
  readonly announcement?: Announcement;
  readonly advertiseAddress: string;
  readonly port: number;
  readonly serviceRanges: readonly string[];
  /** Names of features that are off by default and on here. */
  readonly features?: readonly string[];
  /** Given if what Services use is to be checked, now and for ever. */
  readonly ports?: PortAllocator;
  /** As it is now. */
  published(): Omit<PublishedConfig, "nowMs">;
  /** Called when a step is done. */
  finished?(step: StartStep): void;
}

const RETRY_MS = 1_000;

/**
 * Resolves when everything is there; what fails is tried again until the signal aborts. What has to
 * be kept up goes on in the background.
 */
export async function bootstrapCluster(
  options: BootstrapOptions,
  signal: AbortSignal,
): Promise<void> {
  const { objects, loopback, discovery, clock, logger, ports } = options;
  const published = (): PublishedConfig => ({ ...options.published(), nowMs: clock.nowMs() });
  const service = {
    ...options,
    shared: options.storeIsShared,
  };
  const steps: readonly Step[] = [
    { step: "access", run: () => reconcileAccess(objects, options.features) },
    { step: "flow-control", run: () => reconcileFlowControl(objects, clock.nowMs()) },
    { step: "priority-classes", run: () => reconcilePriorityClasses(objects) },
    { step: "api-services", run: () => ensureApiServices(objects, discovery, clock.nowMs()) },
  ];
  const namespaces: Step = { step: "namespaces", run: () => ensureSystemNamespaces(loopback) };
  const inNamespaces: readonly Step[] = [
    { step: "kubernetes-service", run: () => ensureKubernetesService(service) },
    {
      step: "published-config",
      run: () => publishConfig(loopback, published()),
    },
  ];
  await Promise.all([
    untilDone(steps, options, signal),
    untilDone([namespaces], options, signal).then(() => untilDone(inNamespaces, options, signal)),
  ]);
  if (signal.aborted) return;
  keepSystemNamespaces(objects, loopback, signal);
  keepPublished(objects, loopback, published, signal);
  runFlowSchemaStatus(objects, clock, logger, signal);
  const peerAddress = `${options.advertiseAddress}:${options.port}`;
  Promise.all([
    ...(ports === undefined ? [] : [runServiceRepair({ ...options, ports }, signal)]),
    options.announcement?.run(service, signal),
    runIdentityLease({ ...options, peerAddress }, signal),
  ]).catch((error: unknown) => logger.error("keeping the cluster's own objects failed", { error }));
  options.finished?.("upkeep");
}

interface Step {
  readonly step: StartStep;
  /** Returns what went wrong. */
  run(): Promise<string[]>;
}

async function untilDone(
  steps: readonly Step[],
  { clock, logger, finished }: BootstrapOptions,
  signal: AbortSignal,
): Promise<void> {
  let left = steps;
  while (!signal.aborted && left.length > 0) {
    const outcomes = await Promise.all(left.map(({ run }) => run().catch((e) => [String(e)])));
    for (const fault of outcomes.flat())
      logger.warn("a bootstrap object is not there yet", { fault });
    for (const [at, { step }] of left.entries()) if (outcomes[at]!.length === 0) finished?.(step);
    left = left.filter((_, at) => outcomes[at]!.length > 0);
    if (left.length > 0) await clock.sleep(RETRY_MS, signal).catch(() => undefined);
  }
}
