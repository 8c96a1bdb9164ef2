/**
 * The records of a cluster by name: Services, endpoints, pods and reverse names.
 *
 * Promises:
 * 1. Answers follow the Kubernetes DNS specification 1.1; where it is silent, CoreDNS.
 * 2. A lookup reads the entries of one Service, or those with one address; it never scans the zone.
 */
import { parseIp } from "#api/validation/ip.ts";
import { valuesOf } from "./few-values.ts";
import { type Lookup, NAME_ERROR, NO_DATA, OUTSIDE, recordsOf } from "./lookup.ts";
import { type Address, addressKey, unpackAddresses } from "./packed-addresses.ts";
import { unpackEndpoints } from "./packed-endpoints.ts";
import { addressRecord, type DnsRecord, type SoaRecord } from "./records.ts";
import { addressOfReverseName, isReverseName } from "./reverse-name.ts";
import type { Port, ServiceEntry } from "./service-entry.ts";
import { ServiceIndex } from "./service-index.ts";
import { parseServiceName, type ServiceName } from "./service-name.ts";
import { type ServicePoint, srvRecords } from "./srv-records.ts";

const DNS_VERSION = "1.1.0";

export interface ZoneOptions {
  /** `cluster.local` in most clusters. */
  readonly clusterDomain: string;
  readonly ttlSeconds: number;
}

export class Zone {
  readonly services = new ServiceIndex();
  readonly #domain: string;
  readonly #suffix: string;
  readonly #ttlSeconds: number;
  readonly #namespaces = new Set<string>();
  #namespaceChanges = 0;

  constructor({ clusterDomain, ttlSeconds }: ZoneOptions) {
    this.#domain = clusterDomain.toLowerCase().replace(/\.$/, "");
    this.#suffix = `.${this.#domain}`;
    this.#ttlSeconds = ttlSeconds;
  }

  get domain(): string {
    return this.#domain;
  }

  /** Another one after every change. */
  get version(): number {
    return this.#namespaceChanges + this.services.changes;
  }

  addNamespace(name: string): void {
    this.#namespaceChanges += 1;
    this.#namespaces.add(name);
  }

  removeNamespace(name: string): void {
    this.#namespaceChanges += 1;
    this.#namespaces.delete(name);
  }

  /** Namespaces that are not among these are gone. */
  retainNamespaces(current: ReadonlySet<string>): void {
    for (const name of this.#namespaces) if (!current.has(name)) this.removeNamespace(name);
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
    const own = this.services.find("kube-system", "kube-dns");
    if (own?.target?.kind !== "cluster-ip") {
      return recordsOf([{ type: "NS", name: this.#domain, target: `ns.dns${this.#suffix}` }]);
    }
    const target = `${dotted(own.key)}.svc${this.#suffix}`;
    return recordsOf(
      [{ type: "NS", name: this.#domain, target }],
      unpackAddresses(own.target.addresses).map((address) => addressRecord(target, address)),
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
    const service = this.services.find(asked.namespace, asked.service);
    const target = service?.target;
    if (service === undefined || target === undefined) return NAME_ERROR;
    if (target.kind === "external-name") {
      const isPlain = asked.endpoint === "" && asked.port === "";
      if (!isPlain || !isHostName(target.host)) return NAME_ERROR;
      return { outcome: "alias", name, target: target.host };
    }
    const isPlain = asked.endpoint === "" && asked.port === "" && asked.protocol === "";
    if (target.kind === "cluster-ip" && isPlain && type !== "SRV") {
      return addressesOfType(name, unpackAddresses(target.addresses), type); // most questions
    }
    const owner = `${asked.service}.${asked.namespace}.svc${this.#suffix}`;
    const points =
      target.kind === "headless" || asked.endpoint !== ""
        ? endpointPoints(service, owner, asked)
        : unpackAddresses(target.addresses).flatMap((address) =>
            target.ports
              .filter((port) => matches(asked, port))
              .map(({ port }) => ({ host: owner, address, port })),
          );
    return points.length === 0 ? NAME_ERROR : answerOf(name, points, type);
  }

  #lookupReverse(name: string, type: string): Lookup {
    const address = addressOfReverseName(name);
    if (address === undefined) return OUTSIDE;
    const key = addressKey(address);
    const services = this.services
      .servicesAt(address)
      .map((service) => `${dotted(service.key)}.svc${this.#suffix}`);
    const endpoints = this.services.slicesAt(address).flatMap((slice) =>
      unpackEndpoints(slice.endpoints)
        .filter((endpoint) => addressKey(endpoint.address) === key)
        .map(({ hostname }) => `${hostname}.${dotted(slice.service.key)}.svc${this.#suffix}`),
    );
    const targets = services.length > 0 ? services : [...new Set(endpoints)];
    if (targets.length === 0) return OUTSIDE;
    return type === "PTR" ? recordsOf(targets.map((target) => ({ type, name, target }))) : NO_DATA;
  }
}

function endpointPoints(
  service: ServiceEntry,
  owner: string,
  asked: ServiceName,
): readonly ServicePoint[] {
  const points: ServicePoint[] = [];
  for (const { endpoints, ports } of valuesOf(service.slices)) {
    for (const { hostname, address } of unpackEndpoints(endpoints)) {
      if (asked.endpoint !== "" && asked.endpoint !== hostname) continue;
      for (const port of ports) {
        if (matches(asked, port))
          points.push({ host: `${hostname}.${owner}`, address, port: port.port });
      }
    }
  }
  return points;
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

/** `namespace/name` as the labels of a name. */
function dotted(key: string): string {
  const slash = key.indexOf("/");
  return `${key.slice(slash + 1)}.${key.slice(0, slash)}`;
}
