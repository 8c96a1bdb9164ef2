/**
 * What the API server says about Ingresses, as the data plane asks for it. Endpoints are looked up when
 * a request needs them; the routing table is built by `update`, which answers what is wrong.
 */
import type { SecureContext } from "node:tls";
import type { Secret, Service } from "#api/generated/core.v1.ts";
import type { EndpointSlice } from "#api/generated/discovery.v1.ts";
import type { KubeObject } from "#api/kind.ts";
import { secretKind } from "#api/kinds/core/v1/config/secret.ts";
import { serviceKind } from "#api/kinds/core/v1/service/service.ts";
import { endpointSliceKind } from "#api/kinds/discovery/v1/endpoint-slice.ts";
import { ingressKind } from "#api/kinds/networking/v1/ingress.ts";
import { ingressClassKind } from "#api/kinds/networking/v1/ingress-class.ts";
import type { Typed } from "#client/client.ts";
import type { Informer } from "#client/informer.ts";
import {
  type InformerScope,
  SharedInformers,
  type SharedInformersOptions,
} from "#client/shared-informers.ts";
import { WakeUp } from "#lib/async/wake-up.ts";
import { type CertificatePair, Certificates } from "./data-plane/certificates.ts";
import type { TrafficState } from "./data-plane/data-plane.ts";
import { EndpointSet } from "./data-plane/endpoint-set.ts";
import { type BuiltTable, buildRoutingTable, type Problem } from "./routes/build-routing-table.ts";
import { readyEndpoints } from "./routes/ready-endpoints.ts";
import type { Backend } from "./routes/routing-table.ts";

const SERVICE_LABEL = "kubernetes.io/service-name";
const BY_SERVICE = "ingress-by-service";
const TLS_SECRETS = { fieldSelector: "type=kubernetes.io/tls" };

export type ClusterStateOptions = SharedInformersOptions & {
  readonly defaultCertificate: CertificatePair;
};

export class ClusterState implements TrafficState {
  /** Resolves when everything was seen. */
  readonly synced: Promise<void>;
  /** Resolves after the signal aborted, when the watches have ended. */
  readonly ended: Promise<void>;
  /** Something changed. */
  readonly changed = new WakeUp();
  readonly #certificates: Certificates;
  readonly #services: Informer<Service>;
  readonly #secrets: Informer<Secret>;
  readonly #slices: Informer<EndpointSlice>;
  readonly #build: () => BuiltTable;
  /** By Service, then by port. Emptied when its slices change. */
  readonly #endpoints = new Map<string, Map<string, EndpointSet>>();
  #built: BuiltTable;

  constructor(options: ClusterStateOptions, signal: AbortSignal) {
    this.#certificates = new Certificates(options.defaultCertificate);
    const informers = new SharedInformers(options);
    const synced: Promise<void>[] = [];
    const ended: Promise<void>[] = [];
    const follow = <T extends KubeObject>(kind: Typed<T>, scope: InformerScope = {}) => {
      const { informer, released } = informers.hold(kind, scope, signal);
      informer.on(() => this.changed.wake(), signal);
      synced.push(informer.synced);
      ended.push(released);
      return informer;
    };
    const ingresses = follow(ingressKind);
    const classes = follow(ingressClassKind);
    this.#services = follow(serviceKind);
    this.#secrets = follow(secretKind, TLS_SECRETS);
    this.#slices = follow(endpointSliceKind);
    this.#slices.cache.addIndex(BY_SERVICE, (slice) => [serviceOf(slice)]);
    this.#slices.on(({ next, old }) => {
      for (const slice of [next, old]) if (slice) this.#endpoints.delete(serviceOf(slice));
    }, signal);
    this.#build = () =>
      buildRoutingTable({
        ingresses: [...ingresses.cache.list()],
        classes: [...classes.cache.list()],
        service: (key) => this.service(key),
      });
    this.#built = this.#build();
    this.synced = Promise.all(synced).then(() => undefined);
    this.ended = Promise.all(ended).then(() => undefined);
  }

  get accepted(): BuiltTable["accepted"] {
    return this.#built.accepted;
  }

  table(): BuiltTable["table"] {
    return this.#built.table;
  }

  certificate(serverName: string): SecureContext {
    return this.#certificates.find(serverName);
  }

  certificatePairs(): Readonly<Record<string, CertificatePair>> {
    return this.#certificates.pairs;
  }

  service(key: string): Service | undefined {
    return byKey(this.#services, key);
  }

  endpoints({ service, portName }: Backend): EndpointSet {
    let ports = this.#endpoints.get(service);
    if (ports === undefined) {
      ports = new Map();
      this.#endpoints.set(service, ports);
    }
    let set = ports.get(portName);
    if (set === undefined) {
      const slices = [...this.#slices.cache.byIndex(BY_SERVICE, service)];
      set = new EndpointSet(readyEndpoints(slices, portName), service);
      ports.set(portName, set);
    }
    return set;
  }

  /** Whether a pod at an address (`host:port`) takes requests of any route. */
  isEndpoint(authority: string): boolean {
    for (const ports of this.#endpoints.values()) {
      for (const set of ports.values()) if (set.has(authority)) return true;
    }
    return false;
  }

  /** Makes the routing table anew. */
  update(): readonly Problem[] {
    this.#built = this.#build();
    const wrong = this.#certificates.update(this.#built.tls, (key) => byKey(this.#secrets, key));
    return [...this.#built.problems, ...wrong];
  }
}

function serviceOf({ metadata }: EndpointSlice): string {
  return `${metadata.namespace}/${metadata.labels?.[SERVICE_LABEL] ?? ""}`;
}

function byKey<T extends KubeObject>({ cache }: Informer<T>, key: string): T | undefined {
  const [namespace, name = ""] = key.split("/");
  return cache.get(namespace, name);
}
