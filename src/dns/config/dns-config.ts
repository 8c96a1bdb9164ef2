/** What a Corefile asks for, as data. Names are lower case, without the dot at the end; the root is empty. */
import type { Upstream } from "../forward/resolv-conf.ts";
import type { HostsTable } from "./hosts-table.ts";
import type { RewriteRule } from "./rewrite-rule.ts";

export interface DnsConfig {
  readonly blocks: readonly BlockConfig[];
}

/** One server block. The block with the longest zone that a name lies in answers for it. */
export interface BlockConfig {
  readonly zones: readonly string[];
  readonly rewrites: readonly RewriteRule[];
  readonly hosts: HostsConfig | undefined;
  readonly kubernetes: KubernetesConfig | undefined;
  readonly forwards: readonly ForwardConfig[];
  readonly cache: CacheConfig | undefined;
  readonly isLogged: boolean;
  /** Whether search lists of pods are walked for them, and what the machine has at their end. */
  readonly autoPath: { readonly machineSearch: readonly string[] } | undefined;
}

export interface HostsConfig {
  readonly table: HostsTable;
  readonly ttlSeconds: number;
  /** Whether names that the table does not have are looked for further on. */
  readonly isFallthrough: boolean;
}

export interface KubernetesConfig {
  readonly ttlSeconds: number | undefined;
  /** Verified: only addresses that pods have. */
  readonly pods: "disabled" | "insecure" | "verified";
}

export interface ForwardConfig {
  readonly from: string;
  readonly except: readonly string[];
  readonly upstreams: readonly Upstream[];
  readonly policy: "random" | "sequential";
  readonly concurrentMax: number | undefined;
}

export interface CacheConfig {
  readonly ttlMaxSeconds: number;
}

/** Without a Corefile: the cluster's names, and all others from these servers. */
export function defaultConfig(upstreams: readonly Upstream[]): DnsConfig {
  const forward: ForwardConfig = {
    ...{ from: "", except: [], upstreams, policy: "random", concurrentMax: undefined },
  };
  const block: BlockConfig = {
    ...{ zones: [""], rewrites: [], hosts: undefined, isLogged: false, autoPath: undefined },
    kubernetes: { ttlSeconds: undefined, pods: "insecure" },
    forwards: upstreams.length === 0 ? [] : [forward],
    cache: { ttlMaxSeconds: 30 },
  };
  return { blocks: [block] };
}

/** Whether answers depend on the addresses of pods. */
export function needsPods({ blocks }: DnsConfig): boolean {
  return blocks.some(({ kubernetes }) => kubernetes?.pods === "verified");
}

/** Whether a name is the zone or lies below it. */
export function isInZone(name: string, zone: string): boolean {
  return zone === "" || name === zone || name.endsWith(`.${zone}`);
}
