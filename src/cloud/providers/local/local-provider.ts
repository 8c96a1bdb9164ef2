/**
 * The provider of a cluster on one machine. A Service of type LoadBalancer gets an address of a range, and
 * an AddressHolder makes it answer: where the machine is a node, the machine itself has that address, and
 * the proxy's rules forward what comes to it, so that it answers on the machine, in its pods and, where the
 * range is one of the network, to its neighbours; where nodes are namespaces, a route leads to them.
 *
 * Promises:
 * 1. A Service keeps its address as long as it is in the range, across restarts.
 * 2. Two Services never have the same address.
 * 3. Addresses of the range that no Service has are taken off the machine: at the start those that a
 *    killed process left, at the end all.
 */
import type { LoadBalancerStatus, Node, Service } from "#api/generated/core.v1.ts";
import { isIpv6 } from "#api/validation/ip.ts";
import type { CloudProvider, LoadBalancers } from "../../provider.ts";
import { AddressPool } from "./address-pool.ts";

const NAME = "local";

/** Makes addresses answer. */
export interface AddressHolder {
  list(signal?: AbortSignal): Promise<readonly string[]>;
  /** Called again when the Service or its nodes have changed. */
  place(
    address: string,
    service: Service,
    nodes: readonly Node[],
    signal?: AbortSignal,
  ): Promise<void>;
  remove(address: string, signal?: AbortSignal): Promise<void>;
}

export interface LocalProviderOptions {
  /** CIDRs of one or both families. */
  readonly ranges: readonly string[];
  readonly addresses: AddressHolder;
  /** All Services with a load balancer of this provider, as the API server has them. */
  services(signal: AbortSignal): Promise<readonly Service[]>;
}

export function createLocalProvider(options: LocalProviderOptions): CloudProvider {
  const balancers = new LocalLoadBalancers(options);
  return {
    name: NAME,
    loadBalancers: balancers,
    instances: {
      // Other machines may join, and nothing here knows whether they are gone.
      exists: async () => true,
      isShutdown: async () => false,
      metadata: async (node) => ({
        providerId: node.spec.providerID || `${NAME}://${node.metadata.name}`,
        instanceType: NAME,
        ...addressesOf(node),
      }),
    },
    close: () => balancers.close(),
  };
}

class LocalLoadBalancers implements LoadBalancers {
  readonly #pool: AddressPool;
  readonly #options: LocalProviderOptions;
  #loaded: Promise<void> | undefined;

  constructor(options: LocalProviderOptions) {
    this.#options = options;
    this.#pool = new AddressPool(options.ranges);
  }

  async get(
    _clusterName: string,
    service: Service,
    signal: AbortSignal,
  ): Promise<LoadBalancerStatus | undefined> {
    await this.#load(signal);
    const addresses = this.#pool.addressesOf(ownerOf(service));
    return addresses.length === 0 ? undefined : statusOf(addresses);
  }

  async ensure(
    _clusterName: string,
    service: Service,
    nodes: readonly Node[],
    signal: AbortSignal,
  ): Promise<LoadBalancerStatus> {
    await this.#load(signal);
    const owner = ownerOf(service);
    const wanted = service.spec.loadBalancerIP || undefined;
    const had = this.#pool.addressesOf(owner);
    if (wanted !== undefined && !had.includes(wanted)) this.#pool.claim(wanted, owner);
    const addresses = familiesOf(service).map((family) => {
      if (wanted !== undefined && familyOf(wanted) === family) return wanted;
      return had.find((ip) => familyOf(ip) === family) ?? this.#pool.take(family, owner);
    });
    for (const ip of addresses) await this.#options.addresses.place(ip, service, nodes, signal);
    const left = had.filter((ip) => !addresses.includes(ip));
    if (left.length > 0) await this.#giveBack(owner, left, addresses, signal);
    return statusOf(addresses);
  }

  async update(
    _clusterName: string,
    service: Service,
    nodes: readonly Node[],
    signal: AbortSignal,
  ): Promise<void> {
    await this.#load(signal);
    const { addresses } = this.#options;
    for (const ip of this.#pool.addressesOf(ownerOf(service))) {
      await addresses.place(ip, service, nodes, signal);
    }
  }

  async remove(_clusterName: string, service: Service, signal: AbortSignal): Promise<void> {
    await this.#load(signal);
    const owner = ownerOf(service);
    await this.#giveBack(owner, this.#pool.addressesOf(owner), [], signal);
  }

  async close(): Promise<void> {
    const { addresses } = this.#options;
    if (this.#loaded === undefined) return;
    for (const ip of await addresses.list()) {
      if (this.#pool.includes(ip)) await addresses.remove(ip);
    }
  }

  async #giveBack(
    owner: string,
    addresses: readonly string[],
    kept: readonly string[],
    signal: AbortSignal,
  ): Promise<void> {
    for (const ip of addresses) await this.#options.addresses.remove(ip, signal);
    this.#pool.release(owner);
    for (const ip of kept) this.#pool.claim(ip, owner);
  }

  /** Once: what Services have already is theirs, and what is left on the machine goes. */
  #load(signal: AbortSignal): Promise<void> {
    this.#loaded ??= this.#adopt(signal).catch((error: unknown) => {
      this.#loaded = undefined;
      throw error;
    });
    return this.#loaded;
  }

  async #adopt(signal: AbortSignal): Promise<void> {
    const { services, addresses } = this.#options;
    for (const service of await services(signal)) {
      for (const { ip } of service.status?.loadBalancer?.ingress ?? []) {
        if (ip === undefined || !this.#pool.includes(ip) || this.#pool.has(ip)) continue;
        this.#pool.claim(ip, ownerOf(service));
      }
    }
    for (const ip of await addresses.list(signal)) {
      if (this.#pool.includes(ip) && !this.#pool.has(ip)) await addresses.remove(ip, signal);
    }
  }
}

function statusOf(addresses: readonly string[]): LoadBalancerStatus {
  return { ingress: addresses.map((ip) => ({ ip, ipMode: "VIP" })) };
}

function ownerOf({ metadata }: Service): string {
  return metadata.uid ?? "";
}

function familiesOf({ spec }: Service): readonly string[] {
  return spec.ipFamilies ?? ["IPv4"];
}

function familyOf(address: string): string {
  return isIpv6(address) ? "IPv6" : "IPv4";
}

function addressesOf({ status }: Node) {
  return status?.addresses === undefined ? {} : { addresses: status.addresses };
}
