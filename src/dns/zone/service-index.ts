/**
 * The entries of Services and EndpointSlices, by name and by address.
 *
 * Promises:
 * 1. A change of one object updates only the entries of that object.
 * 2. It keeps what answers are made of, never the objects themselves: about 500 bytes for a Service with
 *    an EndpointSlice of two endpoints.
 */
import type { Service } from "#api/generated/core.v1.ts";
import type { EndpointSlice } from "#api/generated/discovery.v1.ts";
import { createValuePool } from "#lib/collections/value-pool.ts";
import { withoutValue, withValue } from "./few-values.ts";
import { MultiMap } from "./multi-map.ts";
import { type Address, addressKey, unpackAddresses } from "./packed-addresses.ts";
import { unpackEndpoints } from "./packed-endpoints.ts";
import {
  type Port,
  type ServiceEntry,
  type SliceEntry,
  serviceNameOf,
  sliceEntryOf,
  targetOf,
} from "./service-entry.ts";

/** Lists of ports that Services share. */
const PORT_LISTS_MAX = 1_000;

export class ServiceIndex {
  readonly #services = new Map<string, ServiceEntry>();
  readonly #slices = new Map<string, SliceEntry>();
  /** One map for cluster IPs and endpoints: it takes a third less than two. */
  readonly #byAddress = new MultiMap<number | string, ServiceEntry | SliceEntry>();
  /** How often something was put or removed. */
  #changes = 0;
  readonly #ports = createValuePool<readonly Port[]>(PORT_LISTS_MAX);

  get changes(): number {
    return this.#changes;
  }

  /** The entry may have no target: then only slices of the Service are there. */
  find(namespace: string, name: string): ServiceEntry | undefined {
    return this.#services.get(keyOf(namespace, name));
  }

  /** Services with this cluster IP. */
  servicesAt(address: Address): readonly ServiceEntry[] {
    return this.#byAddress.get(addressKey(address)).filter(isService);
  }

  /** Slices with an endpoint of this address. */
  slicesAt(address: Address): readonly SliceEntry[] {
    return this.#byAddress.get(addressKey(address)).filter(isSlice);
  }

  putService(service: Service): void {
    this.removeService(service);
    const entry = this.#entry(keyOf(service.metadata.namespace, service.metadata.name));
    entry.target = targetOf(service, this.#ports);
    this.#changes += 1;
    for (const key of addressKeysOf(entry)) this.#byAddress.add(key, entry);
  }

  removeService({ metadata }: Pick<Service, "metadata">): void {
    this.#removeService(keyOf(metadata.namespace, metadata.name));
  }

  /** Services whose keys (`namespace/name`) are not among these are gone. */
  retainServices(current: ReadonlySet<string>): void {
    for (const key of this.#services.keys()) if (!current.has(key)) this.#removeService(key);
  }

  putSlice(slice: EndpointSlice): void {
    const key = keyOf(slice.metadata.namespace, slice.metadata.name);
    this.#removeSlice(key);
    const name = serviceNameOf(slice);
    if (name === undefined) return;
    const service = this.#entry(keyOf(slice.metadata.namespace, name));
    const entry = sliceEntryOf(slice, service, this.#ports);
    this.#slices.set(key, entry);
    this.#changes += 1;
    service.slices = withValue(service.slices, entry);
    for (const { address } of unpackEndpoints(entry.endpoints)) {
      this.#byAddress.add(addressKey(address), entry);
    }
  }

  removeSlice({ metadata }: Pick<EndpointSlice, "metadata">): void {
    this.#removeSlice(keyOf(metadata.namespace, metadata.name));
  }

  /** EndpointSlices whose keys (`namespace/name`) are not among these are gone. */
  retainSlices(current: ReadonlySet<string>): void {
    for (const key of this.#slices.keys()) if (!current.has(key)) this.#removeSlice(key);
  }

  /** The entry of a Service, which may be made for its slices before the Service is there. */
  #entry(key: string): ServiceEntry {
    const known = this.#services.get(key);
    if (known !== undefined) return known;
    const entry: ServiceEntry = { key, target: undefined, slices: undefined };
    this.#services.set(key, entry);
    return entry;
  }

  #removeService(key: string): void {
    const entry = this.#services.get(key);
    if (entry === undefined) return;
    for (const address of addressKeysOf(entry)) this.#byAddress.remove(address, entry);
    entry.target = undefined;
    this.#changes += 1;
    this.#removeIfEmpty(entry);
  }

  #removeSlice(key: string): void {
    const entry = this.#slices.get(key);
    if (entry === undefined) return;
    this.#slices.delete(key);
    this.#changes += 1;
    for (const { address } of unpackEndpoints(entry.endpoints)) {
      this.#byAddress.remove(addressKey(address), entry);
    }
    entry.service.slices = withoutValue(entry.service.slices, entry);
    this.#removeIfEmpty(entry.service);
  }

  #removeIfEmpty({ key, target, slices }: ServiceEntry): void {
    if (target === undefined && slices === undefined) this.#services.delete(key);
  }
}

function isService(entry: ServiceEntry | SliceEntry): entry is ServiceEntry {
  return "target" in entry;
}

function isSlice(entry: ServiceEntry | SliceEntry): entry is SliceEntry {
  return "endpoints" in entry;
}

function addressKeysOf({ target }: ServiceEntry): readonly (number | string)[] {
  return target?.kind === "cluster-ip" ? unpackAddresses(target.addresses).map(addressKey) : [];
}

/** By `join`, since V8 keeps the parts of a long string that `+` has made. */
function keyOf(namespace = "", name = ""): string {
  return [namespace, name].join("/");
}
