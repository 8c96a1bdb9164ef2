/**
 * What a node does with packets to one port of a Service, in one IP family. Writers render these
 * records; they hold no decision of their own.
 */
import type { Endpoint } from "./endpoint.ts";

export type Protocol = "tcp" | "udp" | "sctp";

/** Traffic that no endpoint takes: `reject` answers with an ICMP error, `drop` says nothing. */
export type Refusal = "reject" | "drop";

export type Policy = "cluster" | "local";

export interface ServicePortRules {
  /** `namespace/name/protocol/port name`: unique in one family. */
  readonly id: string;
  readonly protocol: Protocol;
  readonly port: number;
  readonly clusterIp: string;
  readonly externalIps: readonly string[];
  readonly loadBalancerIps: readonly string[];
  readonly nodePort: number | undefined;
  /** Sources that may use the load balancer IPs; undefined if all may. */
  readonly sourceRanges: readonly string[] | undefined;
  /** Session affinity ClientIP; undefined if there is none. */
  readonly affinitySeconds: number | undefined;
  /** Endpoints by traffic policy; empty if the policy is not used or has none. */
  readonly cluster: readonly Endpoint[];
  readonly local: readonly Endpoint[];
  /** Packets to the cluster IP. */
  readonly internal: { readonly policy: Policy; readonly refuse: Refusal | undefined };
  /** Packets to external IPs, load balancer IPs and the node port; undefined if there are none. */
  readonly external:
    | {
        readonly policy: Policy;
        /** Traffic of pods and of the node itself is not refused if `cluster` has endpoints. */
        readonly refuse: Refusal | undefined;
      }
    | undefined;
}

/** The rules of many Services, by namespace/name. */
export interface ServiceRules {
  /** A snapshot: Services that come and go meanwhile do not change it. */
  keys(): readonly string[];
  /** Empty for Services without rules, and for those that are gone. */
  get(key: string): readonly ServicePortRules[];
}

/** Every endpoint that a rule can lead to, once. */
export function reachableEndpoints({ cluster, local }: ServicePortRules): readonly Endpoint[] {
  const known = new Set(cluster.map(({ ip, port }) => `${ip} ${port}`));
  return [...cluster, ...local.filter(({ ip, port }) => !known.has(`${ip} ${port}`))];
}
