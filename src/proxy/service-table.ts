/**
 * The rules of every Service, kept as Services, EndpointSlices and the node change. Only Services
 * that changed are decided again.
 */
import type { Service } from "#api/generated/core.v1.ts";
import type { EndpointSlice } from "#api/generated/discovery.v1.ts";
import type { IpFamily } from "#api/meta/ip-family.ts";
import type { Cache } from "#client/cache.ts";
import { decideServiceRules, type NodeFacts } from "./rules/decide-service-rules.ts";
import { decideServiceHealth, type ServiceHealth } from "./rules/health-check-ports.ts";
import type { ServicePortRules } from "./rules/service-rules.ts";

export const SERVICE_NAME_LABEL = "kubernetes.io/service-name";
const BY_SERVICE = "proxy-service";

export interface ServiceTableOptions {
  readonly services: Cache<Service>;
  readonly slices: Cache<EndpointSlice>;
  readonly families: readonly IpFamily[];
  /** Called when something waits to be taken. */
  onChange(): void;
}

export interface TakenChanges {
  /** Names of Services that changed since the last call. */
  readonly changed: ReadonlySet<string>;
  readonly hasUdp: boolean;
}

export class ServiceTable {
  readonly #options: ServiceTableOptions;
  readonly #rules: ReadonlyMap<IpFamily, Map<string, readonly ServicePortRules[]>>;
  readonly #health = new Map<string, ServiceHealth>();
  readonly #changed = new Set<string>();

  constructor(options: ServiceTableOptions) {
    this.#options = options;
    this.#rules = new Map(options.families.map((family) => [family, new Map()]));
    const { services, slices } = options;
    slices.addIndex(BY_SERVICE, (slice) => {
      const key = serviceOf(slice);
      return key === undefined ? [] : [key];
    });
    services.on(({ next, old }) => this.#note(keyOf(next ?? old)));
    slices.on(({ next, old }) => {
      this.#note(next === undefined ? undefined : serviceOf(next));
      this.#note(old === undefined ? undefined : serviceOf(old));
    });
  }

  get hasChanges(): boolean {
    return this.#changed.size > 0;
  }

  rulesOf(family: IpFamily): ReadonlyMap<string, readonly ServicePortRules[]> {
    return this.#rules.get(family) ?? new Map();
  }

  healthChecks(): readonly ServiceHealth[] {
    return [...this.#health.values()];
  }

  /** The node is another one now: every Service must be decided again. */
  markAll(): void {
    for (const service of this.#options.services.list()) this.#note(keyOf(service));
  }

  /** Decides what changed. */
  take(node: NodeFacts): TakenChanges {
    const changed = new Set(this.#changed);
    this.#changed.clear();
    let hasUdp = false;
    for (const key of changed) {
      const [namespace, name = ""] = key.split("/");
      const service = this.#options.services.get(namespace, name);
      const slices = [...this.#options.slices.byIndex(BY_SERVICE, key)];
      for (const [family, table] of this.#rules) {
        const rules =
          service === undefined ? [] : decideServiceRules(service, slices, family, node);
        const all = [...rules, ...(table.get(key) ?? [])];
        hasUdp ||= all.some(({ protocol }) => protocol === "udp");
        if (rules.length === 0) table.delete(key);
        else table.set(key, rules);
      }
      const health =
        service === undefined ? undefined : decideServiceHealth(service, slices, node.nodeName);
      if (health === undefined) this.#health.delete(key);
      else this.#health.set(key, health);
    }
    return { changed, hasUdp };
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

function keyOf(service: Service | undefined): string | undefined {
  return service && `${service.metadata.namespace}/${service.metadata.name}`;
}
