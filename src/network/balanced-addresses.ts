/**
 * Addresses of load balancers in a cluster whose nodes are network namespaces of this machine: a route for
 * each address leads to the nodes, whose proxies know what to do with it. So the machine needs no packet
 * rules, and nodes see the addresses of clients.
 *
 * Promises:
 * 1. Packets for an address go to nodes that may answer (decide-gateways.ts), each connection to one. The routes
 *    follow the nodes that `place` names and, with `externalTrafficPolicy: Local`, the EndpointSlices.
 *    The kernel chooses by address and port (multipath hash policy 1) while this runs: by its
 *    default all connections of a client go to one node.
 * 2. Packets for addresses that no Service has do not leave the machine.
 * 3. `close` removes all routes; those that a killed process left go at the next start, or with `removeBalancedAddresses`.
 */
import type { Node, Service } from "#api/generated/core.v1.ts";
import type { EndpointSlice } from "#api/generated/discovery.v1.ts";
import { endpointSliceKind } from "#api/kinds/discovery/v1/endpoint-slice.ts";
import type { Client } from "#client/client.ts";
import { Informer } from "#client/informer.ts";
import { KeyLocks } from "#lib/async/key-locks.ts";
import type { Logger } from "#lib/logger.ts";
import type { Random } from "#lib/random.ts";
import type { Clock } from "#lib/time/clock.ts";
import { decideGateways } from "./decide-gateways.ts";
import { isIpv6 } from "./decide-pod-routes.ts";
import { deleteRoute, markedRoutes, replaceRoute } from "./ip-command.ts";
import { hashByPort } from "./multipath-hash.ts";
import type { NetworkMarks } from "./network-marks.ts";

export interface BalancedAddressesOptions {
  /** May list and watch EndpointSlices. */
  readonly client: Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly marks: NetworkMarks;
  /** All addresses are of these. */
  readonly ranges: readonly string[];
}

interface Placed {
  readonly service: Service;
  readonly nodes: readonly Node[];
}

const SERVICE_NAME_LABEL = "kubernetes.io/service-name";
const BY_SERVICE = "service";
/** A change of routes takes milliseconds. */
const WAIT_MS_MAX = 10_000;

export class BalancedAddresses {
  readonly #options: BalancedAddressesOptions;
  readonly #slices: Informer<EndpointSlice>;
  /** By address. */
  readonly #placed = new Map<string, Placed>();
  /** The last route of each address; one change at a time. */
  readonly #locks: KeyLocks;
  #restoreHash: () => Promise<void> = async () => undefined;

  constructor(options: BalancedAddressesOptions) {
    const { client, clock, random, logger } = options;
    this.#options = options;
    this.#locks = new KeyLocks(clock, WAIT_MS_MAX);
    const labelSelector = SERVICE_NAME_LABEL;
    const shared = { client, clock, random, logger, labelSelector };
    this.#slices = new Informer<EndpointSlice>({ ...shared, kind: endpointSliceKind });
    this.#slices.cache.addIndex(BY_SERVICE, (slice) => [serviceOf(slice)]);
    this.#slices.on(({ next, old }) => this.#endpointsChanged(serviceOf((next ?? old)!)));
  }

  async run(signal: AbortSignal): Promise<void> {
    const { marks, ranges } = this.#options;
    for (const range of ranges) {
      const isPossible = replaceRoute(range, ["unreachable"], marks.balancerMetric);
      await isPossible.catch(() => undefined); // a kernel without IPv6
    }
    this.#restoreHash = await hashByPort();
    await this.#slices.run(signal);
  }

  /** Addresses that have a route. */
  async list(): Promise<readonly string[]> {
    const routes = await markedRoutes(this.#options.marks.balancerMetric);
    return routes.flatMap(({ dst }) => (dst.includes("/") ? [] : [dst]));
  }

  /** Again whenever the Service or the nodes that are ready have changed. */
  async place(address: string, service: Service, nodes: readonly Node[]): Promise<void> {
    this.#placed.set(address, { service, nodes });
    await this.#slices.synced;
    await this.#route(address);
  }

  async remove(address: string): Promise<void> {
    this.#placed.delete(address);
    using _held = await this.#locks.enter(address);
    await this.#delete(address);
  }

  async close(): Promise<void> {
    this.#placed.clear();
    await this.#restoreHash();
    await removeBalancedAddresses(this.#options.marks);
  }

  #endpointsChanged(key: string): void {
    for (const [address, { service }] of this.#placed) {
      if (keyOf(service) !== key || service.spec.externalTrafficPolicy !== "Local") continue;
      this.#route(address).catch((error: unknown) =>
        this.#options.logger.warn("the route of a load balancer could not be changed", {
          ...{ address, service: key, error },
        }),
      );
    }
  }

  async #route(address: string): Promise<void> {
    using _held = await this.#locks.enter(address);
    const placed = this.#placed.get(address);
    if (placed === undefined) return;
    const slices = this.#slices.cache.byIndex(BY_SERVICE, keyOf(placed.service));
    const gateways = decideGateways(address, placed.service, placed.nodes, slices);
    if (gateways.length === 0) return this.#delete(address); // the range's route refuses packets
    const where =
      gateways.length === 1
        ? ["via", gateways[0]!]
        : gateways.flatMap((gateway) => ["nexthop", "via", gateway]);
    // `replace` adds a second route with other next hops where there is one of IPv6.
    if (isIpv6(address)) await this.#delete(address);
    await replaceRoute(address, where, this.#options.marks.balancerMetric);
  }

  async #delete(address: string): Promise<void> {
    const { balancerMetric } = this.#options.marks;
    for (const route of await markedRoutes(balancerMetric)) {
      if (route.dst === address) await deleteRoute({ dst: address }, balancerMetric);
    }
  }
}

/** Also what a process that was killed left. */
export async function removeBalancedAddresses({ balancerMetric }: NetworkMarks): Promise<void> {
  for (const { dst, type } of await markedRoutes(balancerMetric)) {
    await deleteRoute(type === undefined ? { dst } : { dst, type }, balancerMetric);
  }
}

function serviceOf({ metadata }: EndpointSlice): string {
  return `${metadata.namespace}/${metadata.labels?.[SERVICE_NAME_LABEL]}`;
}

function keyOf({ metadata }: Service): string {
  return `${metadata.namespace}/${metadata.name}`;
}
