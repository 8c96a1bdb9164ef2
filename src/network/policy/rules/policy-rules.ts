/**
 * What NetworkPolicies mean on one node, as data.
 *
 * 1. Only pods of this node that some policy selects are in `isolated`. All other traffic passes.
 * 2. A packet to an isolated pod must be allowed by one of its ingress policies, a packet from an
 *    isolated pod by one of its egress policies. An empty list of policies does not occur.
 * 3. Addresses and networks are in canonical form and of both families.
 */
export interface PolicyRuleSet {
  /** By address of the pod. */
  readonly isolated: ReadonlyMap<string, Isolation>;
  /** By `namespace/name`: the policies that select a pod of this node. */
  readonly policies: ReadonlyMap<string, PolicyRules>;
  /** Addresses of the pods that a peer selects, by the peer's key. */
  readonly peers: ReadonlyMap<string, readonly string[]>;
  /** Where pods serve a named port, by the key of the port. */
  readonly namedPorts: ReadonlyMap<string, readonly PodPort[]>;
}

/** Names of policies in order; undefined if the pod is not isolated in that direction. */
export interface Isolation {
  readonly ingress: readonly string[] | undefined;
  readonly egress: readonly string[] | undefined;
}

export interface PolicyRules {
  readonly ingress: readonly AllowRule[];
  readonly egress: readonly AllowRule[];
}

/** Allows traffic of any of the peers on any of the ports. */
export interface AllowRule {
  readonly peers: readonly PeerMatch[] | "all";
  readonly ports: readonly PortMatch[] | "all";
}

export type PeerMatch =
  | { readonly type: "pods"; readonly key: string }
  | { readonly type: "block"; readonly cidr: string; readonly except: readonly string[] };

export type Protocol = "tcp" | "udp" | "sctp";

export type PortMatch =
  | { readonly type: "any"; readonly protocol: Protocol }
  | {
      readonly type: "range";
      readonly protocol: Protocol;
      readonly from: number;
      readonly to: number;
    }
  | { readonly type: "named"; readonly protocol: Protocol; readonly key: string };

export interface PodPort {
  readonly ip: string;
  readonly port: number;
}
