/**
 * The service proxy of a node (kube-proxy): follows Services, EndpointSlices, its Node and the
 * ServiceCIDRs, and keeps the kernel's rules equal to what src/proxy/rules decides.
 *
 * Promises:
 * 1. Nothing is written before all Services and EndpointSlices are known.
 * 2. A change is written at once; while one is written, further ones gather for the next.
 * 3. A failed write is tried again, whole, with growing delays.
 * 4. Rules that were flushed by others are written again within `checkPeriodMs`.
 * 5. When the signal aborts the rules are removed.
 *
 *     const proxy = runProxy({ client, clock, random, logger, metrics, nodeName, mode }, signal);
 *     await proxy.ready;
 */

import type { Node, Service } from "#api/generated/core.v1.ts";
import type { EndpointSlice } from "#api/generated/discovery.v1.ts";
import type { ServiceCIDR } from "#api/generated/networking.v1.ts";
import type { IpFamily } from "#api/meta/ip-family.ts";
import type { Client } from "#client/client.ts";
import { Informer } from "#client/informer.ts";
import {
  endpointSliceResource,
  nodeResource,
  serviceCidrResource,
  serviceResource,
} from "#client/node-resources.ts";
import { pathExists } from "#host/files.ts";
import { interfaceAddresses } from "#host/interface-addresses.ts";
import { readyAndDone } from "#lib/async/ready-and-done.ts";
import { WakeUp } from "#lib/async/wake-up.ts";
import type { Logger } from "#lib/logger.ts";
import { Metrics } from "#lib/metrics.ts";
import type { Random } from "#lib/random.ts";
import type { Clock } from "#lib/time/clock.ts";
import { removeRules, writerOf } from "./detect-mode.ts";
import { startPageServer } from "./health/page-server.ts";
import { ProxyHealth } from "./health/proxy-health.ts";
import { ServiceHealthServers } from "./health/service-health-servers.ts";
import { createSlicePacker, packService } from "./packed-objects.ts";
import { addProxyMetrics } from "./proxy-metrics.ts";
import { PROXY_MODES, type ProxyMode } from "./proxy-mode.ts";
import {
  type DetectLocalMode,
  decideBaseRules,
  type NodePortSetting,
  nodeFactsOf,
} from "./rules/decide-base-rules.ts";
import { PROXY_NAME_LABEL } from "./rules/decide-service-rules.ts";
import { ServiceTable } from "./service-table.ts";
import { runSyncLoop } from "./sync-loop.ts";
import { TriggerTimes } from "./trigger-times.ts";

export interface ProxyOptions {
  readonly client: Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly nodeName: string;
  readonly mode: ProxyMode;
  /** Networks of pods, of either family. Unless given, pods of this node are recognized by its podCIDRs. */
  readonly clusterCidrs?: readonly string[];
  readonly detectLocalMode?: DetectLocalMode;
  /** Of the modes by interface: its name, or the beginning of it. */
  readonly podInterface?: string;
  readonly nodePortAddresses?: NodePortSetting;
  /** The node's own address, if not the one of the Node object. */
  readonly nodeIp?: string;
  /** Whether node ports answer at 127.0.0.1, as far as the mode can do it. */
  readonly localhostNodePorts?: boolean;
  readonly masqueradeAll?: boolean;
  /** 14 unless given. */
  readonly masqueradeBit?: number;
  /** Least time between two writes; as long as the last one took unless given. */
  readonly minSyncPeriodMs?: number;
  /** How often flushed rules are looked for. */
  readonly checkPeriodMs?: number;
  /**
   * Keeps only the fields that rules need. For clients over the network: in one process with the API
   * server whole objects are shared with it.
   */
  readonly trimObjects?: boolean;
  /** Where `/healthz` is served; nowhere unless given. */
  readonly healthz?: { readonly host: string; readonly port: number };
}

export interface RunningProxy {
  /** Resolves when the first rules are in the kernel. */
  readonly ready: Promise<void>;
  /** Resolves when the rules are removed, after the signal aborted. */
  readonly done: Promise<void>;
}

const MASQUERADE_BIT_DEFAULT = 14;
const CHECK_PERIOD_MS_DEFAULT = 10_000;
/** ServiceCIDRs may be forbidden or unknown: rules do not wait for them longer. */
const SERVICE_CIDRS_WAIT_MS = 300;
const OTHER_PROXIES = `!${PROXY_NAME_LABEL}`;
const NO_HEADLESS = `!service.kubernetes.io/headless,${OTHER_PROXIES}`;

export function runProxy(options: ProxyOptions, signal: AbortSignal): RunningProxy {
  return readyAndDone((onReady) => run(options, onReady, signal));
}

async function run(options: ProxyOptions, onReady: () => void, signal: AbortSignal): Promise<void> {
  const { client, clock, random, logger, nodeName, mode } = options;
  const hasIpv6 = await pathExists("/proc/net/if_inet6");
  const families: readonly IpFamily[] = hasIpv6 ? ["IPv4", "IPv6"] : ["IPv4"];
  const others = PROXY_MODES.filter((other) => other !== mode);
  await removeRulesIfPossible(others, families, options);
  const metrics = new Metrics();
  using _shown = options.metrics.include(metrics);
  const counts = addProxyMetrics(metrics, mode);
  const health = new ProxyHealth(clock);
  if (options.healthz !== undefined) {
    const page = (path: string) => health.page(path);
    await startPageServer({ ...options.healthz, page }, signal);
  }
  const shared = { client, clock, random, logger };
  const services = new Informer<Service>({
    ...{ ...shared, kind: serviceResource, labelSelector: OTHER_PROXIES },
    ...(options.trimObjects ? { transform: packService } : {}),
  });
  const slices = new Informer<EndpointSlice>({
    ...{ ...shared, kind: endpointSliceResource, labelSelector: NO_HEADLESS },
    ...(options.trimObjects ? { transform: createSlicePacker() } : {}),
  });
  const fieldSelector = `metadata.name=${nodeName}`;
  const nodes = new Informer<Node>({ ...shared, kind: nodeResource, fieldSelector });
  const ranges = new Informer<ServiceCIDR>({ ...shared, kind: serviceCidrResource });

  const changed = new WakeUp();
  const wake = (): void => {
    health.queued();
    counts.lastQueued().set(clock.nowMs() / 1000);
    changed.wake();
  };
  const table = new ServiceTable({
    services: services.cache,
    slices: slices.cache,
    onChange: wake,
  });
  services.on(() => counts.serviceChanges().add(1));
  const triggers = new TriggerTimes(clock.nowMs());
  slices.on(({ next, old }) => {
    counts.endpointChanges().add(1);
    triggers.add(next, old);
  });
  let facts = nodeFactsOf(undefined, nodeName, options.nodeIp);
  nodes.on(({ next }) => {
    const before = JSON.stringify(facts);
    facts = nodeFactsOf(next, nodeName, options.nodeIp);
    health.isNodeEligible = isEligible(next);
    if (JSON.stringify(facts) === before) return;
    table.markAll();
    wake();
  });
  ranges.on(wake);

  // Listeners and indexes are there: they see every object.
  const informers = [services, slices, nodes, ranges].map((informer) => informer.run(signal));
  const known = [services, slices, nodes].map(({ synced }) => synced);
  const rangesKnown = Promise.race([
    ranges.synced,
    clock.sleep(SERVICE_CIDRS_WAIT_MS, signal).catch(() => undefined),
  ]);
  const aborted = new Promise<void>((resolve) => {
    signal.addEventListener("abort", () => resolve(), { once: true });
    if (signal.aborted) resolve();
  });
  await Promise.race([Promise.all([...known, rangesKnown]), aborted]);
  using checks = new ServiceHealthServers("0.0.0.0", () => health.isHealthy, logger);
  const writers = families.map((family) => ({ family, writer: writerOf(mode, family, clock) }));
  try {
    await runSyncLoop(
      {
        ...{ clock, random, logger, metrics: counts, health, table, changed, checks, triggers },
        writers,
        baseRules: (family) =>
          decideBaseRules(family, {
            clusterCidrs: options.clusterCidrs ?? [],
            detectLocalMode: options.detectLocalMode ?? "ClusterCIDR",
            ...(options.podInterface === undefined ? {} : { podInterface: options.podInterface }),
            nodePortAddresses: options.nodePortAddresses ?? defaultNodePortAddresses(mode),
            interfaceAddresses: interfaceAddresses(),
            localhostNodePorts: mode === "iptables" && (options.localhostNodePorts ?? true),
            masqueradeAll: options.masqueradeAll ?? false,
            masqueradeBit: options.masqueradeBit ?? MASQUERADE_BIT_DEFAULT,
            serviceCidrs: [...ranges.cache.list()].flatMap(({ spec }) => spec.cidrs ?? []),
            node: facts,
          }),
        nodeFacts: () => facts,
        interfaceAddresses,
        minSyncPeriodMs: options.minSyncPeriodMs,
        checkPeriodMs: options.checkPeriodMs ?? CHECK_PERIOD_MS_DEFAULT,
        onReady,
      },
      signal,
    );
  } finally {
    // Writers may hold more than rules.
    for (const { writer } of writers) await writer.cleanup().catch(() => undefined);
    await removeRulesIfPossible([mode], families, options);
    await Promise.all(informers);
  }
}

/** Rules that cannot be removed keep neither the start nor the end of the proxy. */
async function removeRulesIfPossible(
  modes: readonly ProxyMode[],
  families: readonly IpFamily[],
  { clock, logger }: ProxyOptions,
): Promise<void> {
  await removeRules(modes, families, clock).catch((error: unknown) =>
    logger.warn("service rules could not be removed", { modes: modes.join(" "), error }),
  );
}

/** As upstream: nftables answers at the node's own addresses, iptables at all of them. */
function defaultNodePortAddresses(mode: ProxyMode): NodePortSetting {
  return mode === "nftables" ? ["primary"] : [];
}

/** A node that is being removed takes no new connections from load balancers. */
function isEligible(node: Node | undefined): boolean {
  if (node === undefined) return true;
  if (node.metadata.deletionTimestamp !== undefined) return false;
  return !(node.spec.taints ?? []).some(({ key }) => key === "ToBeDeletedByClusterAutoscaler");
}
