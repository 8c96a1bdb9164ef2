/**
 * The rules of every Service. They are not kept: they are decided from the caches whenever a writer asks
 * for them, which is once for each change. A Service that changes while rules are written is among the
 * next changes.
 */
import type { Service } from "#api/generated/core.v1.ts";
import type { EndpointSlice } from "#api/generated/discovery.v1.ts";
import type { IpFamily } from "#api/meta/ip-family.ts";
import type { Cache } from "#client/cache.ts";
import { decideServiceRules, type NodeFacts } from "./rules/decide-service-rules.ts";
import { decideServiceHealth, type ServiceHealth } from "./rules/health-check-ports.ts";
import type { ServicePortRules, ServiceRules } from "./rules/service-rules.ts";

export const SERVICE_NAME_LABEL = "kubernetes.io/service-name";
const BY_SERVICE = "proxy-service";

export interface ServiceTableOptions {
  readonly services: Cache<Service>;
  readonly slices: Cache<EndpointSlice>;
  /** Called when something waits to be taken. */
  onChange(): void;
}

export interface TakenChanges {
  /** Names of Services that changed since the last call. */
  readonly changed: ReadonlySet<string>;
  /** Whether one of them has, or had, a UDP port. */
  readonly hasUdp: boolean;
}

export class ServiceTable {
  readonly #options: ServiceTableOptions;
  readonly #health = new Map<string, ServiceHealth>();
  readonly #changed = new Set<string>();
  /** Services with a UDP port. */
  readonly #udp = new Set<string>();
  #node: NodeFacts = { nodeName: "", zone: "", nodeIps: [] };

  constructor(options: ServiceTableOptions) {
    this.#options = options;
    const { services, slices } = options;
    slices.addIndex(BY_SERVICE, (slice) => {
      const key = serviceOf(slice);
      return key === undefined ? [] : [key];
    });
    services.on(({ next, old }) => {
      const service = next ?? old;
      if (service !== undefined) this.#note(keyOf(service));
    });
    slices.on(({ next, old }) => {
      this.#note(next === undefined ? undefined : serviceOf(next));
      this.#note(old === undefined ? undefined : serviceOf(old));
    });
  }

  get hasChanges(): boolean {
    return this.#changed.size > 0;
  }

  /** Of all Services, for the node of the last `take`. */
  rulesOf(family: IpFamily): ServiceRules {
    const { services } = this.#options;
    const keys = (): string[] => Array.from(services.list(), (service) => keyOf(service));
    return { keys, get: (key) => this.#decide(key, family) };
  }

  /** Of Services with a UDP port. */
  udpRulesOf(family: IpFamily): ServiceRules {
    return { keys: () => [...this.#udp], get: (key) => this.#decide(key, family) };
  }

  healthChecks(): readonly ServiceHealth[] {
    return [...this.#health.values()];
  }

  /** The node is another one now: every Service must be decided again. */
  markAll(): void {
    for (const service of this.#options.services.list()) this.#note(keyOf(service));
  }

  /** Rules are those of this node from now on. */
  take(node: NodeFacts): TakenChanges {
    const changed = new Set(this.#changed);
    this.#changed.clear();
    this.#node = node;
    let hasUdp = false;
    for (const key of changed) {
      const { service, slices } = this.#objectsOf(key);
      const spec = service?.spec;
      hasUdp ||= this.#udp.has(key);
      if (spec?.ports?.some(({ protocol }) => protocol === "UDP")) this.#udp.add(key);
      else this.#udp.delete(key);
      hasUdp ||= this.#udp.has(key);
      const health =
        service === undefined || (spec?.healthCheckNodePort ?? 0) === 0
          ? undefined
          : decideServiceHealth(service, slices, node.nodeName);
      if (health === undefined) this.#health.delete(key);
      else this.#health.set(key, health);
    }
    return { changed, hasUdp };
  }

  #decide(key: string, family: IpFamily): readonly ServicePortRules[] {
    const { service, slices } = this.#objectsOf(key);
    return service === undefined ? [] : decideServiceRules(service, slices, family, this.#node);
  }

  #objectsOf(key: string): { service: Service | undefined; slices: readonly EndpointSlice[] } {
    const [namespace, name = ""] = key.split("/");
    return {
      service: this.#options.services.get(namespace, name),
      slices: [...this.#options.slices.byIndex(BY_SERVICE, key)],
    };
  }

  #note(key: string | undefined): void {
    if (key === undefined) return;
    const isFirst = this.#changed.size === 0;
    this.#changed.add(key);
    if (isFirst) this.#options.onChange();
  }
}

function serviceOf({ metadata }: EndpointSlice): string | undefined {
  const name = metadata.labels?.[SERVICE_NAME_LABEL];
  return name === undefined || name === "" ? undefined : `${metadata.namespace}/${name}`;
}

function keyOf({ metadata }: Service): string {
  return `${metadata.namespace}/${metadata.name}`;
}
