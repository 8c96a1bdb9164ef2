/**
 * The records of a cluster by name: Services, endpoints, pods and reverse names.
 *
 * Promises:
 * 1. Answers follow the Kubernetes DNS specification 1.1; where it is silent, CoreDNS.
 * 2. A change of one object updates only the entries of that object. A lookup never scans.
 * 3. It keeps what answers are made of, never the objects themselves.
 */
import type { Service } from "#api/generated/core.v1.ts";
import type { EndpointSlice } from "#api/generated/discovery.v1.ts";
import { parseIp } from "#api/validation/ip.ts";
import { type Lookup, NAME_ERROR, NO_DATA, OUTSIDE, recordsOf } from "./lookup.ts";
import { MultiMap } from "./multi-map.ts";
import { addressRecord, type DnsRecord, type SoaRecord } from "./records.ts";
import { addressOfReverseName, isReverseName } from "./reverse-name.ts";
import {
  type Address,
  type Port,
  type ServiceEntry,
  type SliceEntry,
  serviceEntryOf,
  serviceNameOf,
  sliceEntryOf,
} from "./service-entry.ts";
import { parseServiceName, type ServiceName } from "./service-name.ts";
import { type ServicePoint, srvRecords } from "./srv-records.ts";

const DNS_VERSION = "1.1.0";

export interface ZoneOptions {
  /** `cluster.local` in most clusters. */
  readonly clusterDomain: string;
  readonly ttlSeconds: number;
}

interface StoredSlice {
  readonly serviceKey: string;
  readonly entry: SliceEntry;
}

export class Zone {
  readonly #domain: string;
  readonly #suffix: string;
  readonly #ttlSeconds: number;
  readonly #namespaces = new Set<string>();
  readonly #services = new Map<string, ServiceEntry>();
  readonly #slices = new Map<string, StoredSlice>();
  readonly #slicesByService = new MultiMap<string, SliceEntry>();
  readonly #servicesByAddress = new MultiMap<string, ServiceEntry>();
  readonly #endpointsByAddress = new MultiMap<string, string>();

  constructor({ clusterDomain, ttlSeconds }: ZoneOptions) {
    this.#domain = clusterDomain.toLowerCase().replace(/\.$/, "");
    this.#suffix = `.${this.#domain}`;
    this.#ttlSeconds = ttlSeconds;
  }

  get domain(): string {
    return this.#domain;
  }

  addNamespace(name: string): void {
    this.#namespaces.add(name);
  }

  removeNamespace(name: string): void {
    this.#namespaces.delete(name);
  }

  putService(service: Service): void {
    const entry = serviceEntryOf(service);
    this.removeService(service);
    this.#services.set(keyOf(entry.namespace, entry.name), entry);
    for (const address of addressesOf(entry)) this.#servicesByAddress.add(String(address), entry);
  }

  removeService({ metadata }: Pick<Service, "metadata">): void {
    const key = keyOf(metadata.namespace, metadata.name);
    const old = this.#services.get(key);
    if (old === undefined) return;
    this.#services.delete(key);
    for (const address of addressesOf(old)) this.#servicesByAddress.remove(String(address), old);
  }

  putSlice(slice: EndpointSlice): void {
    this.removeSlice(slice);
    const service = serviceNameOf(slice);
    if (service === undefined) return;
    const serviceKey = keyOf(slice.metadata.namespace, service);
    const entry = sliceEntryOf(slice);
    this.#slices.set(keyOf(slice.metadata.namespace, slice.metadata.name), { serviceKey, entry });
    this.#slicesByService.add(serviceKey, entry);
    for (const { address, hostname } of entry.endpoints) {
      this.#endpointsByAddress.add(String(address), `${hostname}.${dotted(serviceKey)}`);
    }
  }

  removeSlice({ metadata }: Pick<EndpointSlice, "metadata">): void {
    const key = keyOf(metadata.namespace, metadata.name);
    const old = this.#slices.get(key);
    if (old === undefined) return;
    this.#slices.delete(key);
    this.#slicesByService.remove(old.serviceKey, old.entry);
    for (const { address, hostname } of old.entry.endpoints) {
      this.#endpointsByAddress.remove(String(address), `${hostname}.${dotted(old.serviceKey)}`);
    }
  }

  /** `name` is in lower case, without the dot at the end; `type` is the name of a record type. */
  lookup(name: string, type: string): Lookup {
    if (name.endsWith(this.#suffix)) {
      return this.#lookupBelow(name, name.slice(0, -this.#suffix.length).split("."), type);
    }
    if (name === this.#domain) return this.#lookupApex(type);
    return isReverseName(name) ? this.#lookupReverse(name, type) : OUTSIDE;
  }

  /** For the authority section of negative answers. The serial is the time in seconds. */
  soa(serial: number): SoaRecord {
    return {
      type: "SOA",
      name: this.#domain,
      nameServer: `ns.dns${this.#suffix}`,
      mailbox: `hostmaster${this.#suffix}`,
      serial,
      refreshSeconds: 7200,
      retrySeconds: 1800,
      expireSeconds: 86_400,
      minimumSeconds: this.#ttlSeconds,
    };
  }

  #lookupApex(type: string): Lookup {
    if (type !== "NS") return NO_DATA;
    const own = this.#services.get(keyOf("kube-system", "kube-dns"));
    if (own?.target.kind !== "cluster-ip") {
      return recordsOf([{ type: "NS", name: this.#domain, target: `ns.dns${this.#suffix}` }]);
    }
    const target = `${dotted(keyOf(own.namespace, own.name))}.svc${this.#suffix}`;
    return recordsOf(
      [{ type: "NS", name: this.#domain, target }],
      own.target.addresses.map((address) => addressRecord(target, address)),
    );
  }

  #lookupBelow(name: string, labels: readonly string[], type: string): Lookup {
    if (labels.length === 1 && labels[0] === "dns-version") {
      return type === "TXT" ? recordsOf([{ type, name, text: DNS_VERSION }]) : NO_DATA;
    }
    const parsed = parseServiceName(labels);
    if (parsed === undefined) return NAME_ERROR;
    if (parsed.namespace === "") return NO_DATA;
    if (!this.#namespaces.has(parsed.namespace)) return NAME_ERROR;
    if (parsed.service === "") return NO_DATA;
    return parsed.branch === "pod"
      ? lookupPod(name, parsed, type)
      : this.#lookupService(name, parsed, type);
  }

  #lookupService(name: string, asked: ServiceName, type: string): Lookup {
    const key = keyOf(asked.namespace, asked.service);
    const service = this.#services.get(key);
    if (service === undefined) return NAME_ERROR;
    const { target } = service;
    if (target.kind === "external-name") {
      const isPlain = asked.endpoint === "" && asked.port === "";
      if (!isPlain || !isHostName(target.host)) return NAME_ERROR;
      return { outcome: "alias", name, target: target.host };
    }
    const isPlain = asked.endpoint === "" && asked.port === "" && asked.protocol === "";
    if (target.kind === "cluster-ip" && isPlain && type !== "SRV") {
      return addressesOfType(name, target.addresses, type); // most questions
    }
    const owner = `${asked.service}.${asked.namespace}.svc${this.#suffix}`;
    const points =
      target.kind === "headless" || asked.endpoint !== ""
        ? this.#endpointPoints(key, owner, asked)
        : target.addresses.flatMap((address) =>
            target.ports
              .filter((port) => matches(asked, port))
              .map(({ port }) => ({ host: owner, address, port })),
          );
    return points.length === 0 ? NAME_ERROR : answerOf(name, points, type);
  }

  #endpointPoints(key: string, owner: string, asked: ServiceName): ServicePoint[] {
    const points: ServicePoint[] = [];
    for (const { endpoints, ports } of this.#slicesByService.get(key)) {
      for (const { hostname, address } of endpoints) {
        if (asked.endpoint !== "" && asked.endpoint !== hostname) continue;
        for (const port of ports) {
          if (matches(asked, port))
            points.push({ host: `${hostname}.${owner}`, address, port: port.port });
        }
      }
    }
    return points;
  }

  #lookupReverse(name: string, type: string): Lookup {
    const address = addressOfReverseName(name);
    if (address === undefined) return OUTSIDE;
    const services = [...this.#servicesByAddress.get(String(address))].map(
      (service) => `${service.name}.${service.namespace}.svc${this.#suffix}`,
    );
    const endpoints = [...this.#endpointsByAddress.get(String(address))].map(
      (endpoint) => `${endpoint}.svc${this.#suffix}`,
    );
    const targets = services.length > 0 ? services : [...new Set(endpoints)];
    if (targets.length === 0) return OUTSIDE;
    return type === "PTR" ? recordsOf(targets.map((target) => ({ type, name, target }))) : NO_DATA;
  }
}

/** `a-b-c-d.namespace.pod` is the address a.b.c.d, whether or not a pod has it (`pods insecure`). */
function lookupPod(name: string, { service, endpoint, port }: ServiceName, type: string): Lookup {
  if (endpoint !== "" || port !== "") return NAME_ERROR;
  const isIpv4 = /^\d+-\d+-\d+-\d+$/.test(service);
  const ip = parseIp(service.replaceAll("-", isIpv4 ? "." : ":"));
  if (ip === undefined) return NAME_ERROR;
  const record = addressRecord(name, ip.bytes);
  return record.type === type ? recordsOf([record]) : NO_DATA;
}

function answerOf(name: string, points: readonly ServicePoint[], type: string): Lookup {
  if (type === "SRV") return srvRecords(name, points);
  const addresses = new Map(points.map(({ address }) => [String(address), address]));
  return addressesOfType(name, [...addresses.values()], type);
}

function addressesOfType(name: string, addresses: readonly Address[], type: string): Lookup {
  if (type !== "A" && type !== "AAAA") return NO_DATA;
  const bytes = type === "A" ? 4 : 16;
  const records: DnsRecord[] = [];
  for (const address of addresses) {
    if (address.length === bytes) records.push({ type, name, address });
  }
  return recordsOf(records);
}

function matches({ port, protocol }: ServiceName, candidate: Port): boolean {
  return (
    (port === "" || port === candidate.name) && (protocol === "" || protocol === candidate.protocol)
  );
}

/** A Service whose external name is an address has no records, as with CoreDNS. */
function isHostName(host: string): boolean {
  return host !== "" && parseIp(host) === undefined && host.split(".").every(isLabel);
}

function isLabel(label: string): boolean {
  return label !== "" && label.length <= 63;
}

function addressesOf({ target }: ServiceEntry): readonly Address[] {
  return target.kind === "cluster-ip" ? target.addresses : [];
}

function keyOf(namespace = "", name = ""): string {
  return `${namespace}/${name}`;
}

/** `namespace/name` as the labels of a name. */
function dotted(key: string): string {
  const slash = key.indexOf("/");
  return `${key.slice(slash + 1)}.${key.slice(0, slash)}`;
}
