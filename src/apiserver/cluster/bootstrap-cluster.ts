/** Everything that a fresh cluster has, made or brought up to date at every start. */
import type { Clock } from "#lib/clock.ts";
import type { Logger } from "#lib/logger.ts";
import type { Random } from "#lib/random.ts";
import type { Store } from "#store/contract.ts";
import {
  reconcileAccess,
  reconcileFlowControl,
  reconcilePriorityClasses,
} from "../bootstrap/reconcile.ts";
import type { Discovery } from "../discovery.ts";
import { tellDangling } from "../flow/dangling.ts";
import type { Objects } from "../objects.ts";
import type { PortAllocator } from "../services/port-allocator.ts";
import { runServiceRepair } from "../services/run-repair.ts";
import { tellAvailability } from "./api-availability.ts";
import { ensureApiServices } from "./api-services.ts";
import { runIdentityLease } from "./identity-lease.ts";
import { ensureKubernetesService, runAnnouncement } from "./kubernetes-service.ts";
import type { Loopback } from "./loopback.ts";
import { type PublishedConfig, publishConfig } from "./published-config.ts";
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
  readonly advertiseAddress: string;
  readonly port: number;
  readonly serviceRanges: readonly string[];
  /** Given if what Services use is to be checked, now and for ever. */
  readonly ports?: PortAllocator;
  readonly published: Omit<PublishedConfig, "nowMs">;
}

/** Upstream's names for what is done here, as health checks tell them. */
export const BOOTSTRAP_HOOKS: readonly string[] = [
  "priority-and-fairness-config-consumer",
  "priority-and-fairness-filter",
  "start-system-namespaces-controller",
  "start-cluster-authentication-info-controller",
  "start-kube-apiserver-identity-lease-controller",
  "start-kube-apiserver-identity-lease-garbage-collector",
  "storage-readiness",
  "start-service-ip-repair-controllers",
  "rbac/bootstrap-roles",
  "scheduling/bootstrap-system-priority-classes",
  "priority-and-fairness-config-producer",
  "bootstrap-controller",
  "start-kubernetes-service-cidr-controller",
  "apiservice-registration-controller",
  "apiservice-discovery-controller",
];

const RETRY_MS = 1_000;

/**
 * Resolves when everything is there; what fails is tried again until the signal aborts. What has to
 * be kept up goes on in the background.
 */
export async function bootstrapCluster(
  options: BootstrapOptions,
  signal: AbortSignal,
): Promise<void> {
  const { objects, loopback, discovery, clock, logger, published, ports } = options;
  const service = {
    ...options,
    shared: options.storeIsShared,
  };
  const steps: readonly (() => Promise<string[]>)[] = [
    () => reconcileAccess(objects),
    () => reconcileFlowControl(objects, clock.nowMs()),
    () => reconcilePriorityClasses(objects),
    () => ensureApiServices(objects, discovery, clock.nowMs()),
    async () => {
      const faults = await ensureSystemNamespaces(loopback);
      if (faults.length > 0) return faults;
      const later = await Promise.all([
        ensureKubernetesService(service),
        publishConfig(loopback, { ...published, nowMs: clock.nowMs() }),
      ]);
      return later.flat();
    },
  ];
  let left = steps;
  while (!signal.aborted && left.length > 0) {
    const outcomes = await Promise.all(left.map((step) => step().catch((e) => [String(e)])));
    for (const fault of outcomes.flat())
      logger.warn("a bootstrap object is not there yet", { fault });
    left = left.filter((_, i) => outcomes[i]!.length > 0);
    if (left.length > 0) await clock.sleep(RETRY_MS, signal).catch(() => undefined);
  }
  if (signal.aborted) return;
  keepSystemNamespaces(objects, loopback, signal);
  tellDangling(objects, clock, logger, signal);
  tellAvailability(objects, clock, logger, signal);
  const peerAddress = `${options.advertiseAddress}:${options.port}`;
  Promise.all([
    ...(ports === undefined ? [] : [runServiceRepair({ ...options, ports }, signal)]),
    runAnnouncement(service, signal),
    runIdentityLease({ ...options, peerAddress }, signal),
  ]).catch((error: unknown) => logger.error("keeping the cluster's own objects failed", { error }));
}
