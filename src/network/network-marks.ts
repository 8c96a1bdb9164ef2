/**
 * Names and numbers by which one cluster's part of a machine's network is distinguished from others. All follow
 * from the data directory, so that two clusters on a machine never share a device, a route or a chain, and
 * so that `k8ts down` finds what a process that was killed left behind.
 */
import { createHash } from "node:crypto";

export interface NetworkMarks {
  /** Connects the nodes that are network namespaces. */
  readonly nodeBridge: string;
  /** Connects the pods of one node. */
  readonly podBridge: string;
  readonly vxlanDevice: string;
  /** Has an address where the machine has none. */
  readonly offlineLink: string;
  /** VXLAN network identifier, 24 bits. */
  readonly vni: number;
  /** Routes of this cluster are known by their metric. */
  readonly routeMetric: number;
  /** Likewise routes of the addresses of load balancers. */
  readonly balancerMetric: number;
  /** Of iptables: at most 28 characters. */
  readonly chain: string;
  /** The machine's end of the cable to a node. */
  cableTo(node: string): string;
}

/** Routing protocol number of every route that k8ts makes. */
export const ROUTE_PROTOCOL = 158;

const METRIC_FIRST = 10_000;
const METRICS = 1_000_000;
const VNIS = 0xff_ff_ff;

/** `cluster` is the data directory on the machine of the control plane; a machine that joined has its own. */
export function networkMarks(cluster: string): NetworkMarks {
  const hash = digest(cluster);
  const routeMetric = METRIC_FIRST + (hash.readUInt32BE(4) % METRICS);
  const id = hash.toString("hex").slice(0, 8);
  return {
    nodeBridge: `k8ts-${id}`,
    podBridge: `k8tp-${id}`,
    vxlanDevice: `k8tx-${id}`,
    offlineLink: `k8to-${id}`,
    vni: 1 + (hash.readUInt32BE(8) % VNIS),
    routeMetric,
    balancerMetric: routeMetric + METRICS,
    chain: `K8TS-${id.toUpperCase()}`,
    cableTo: (node) => `k8tv-${digest(`${cluster}\0${node}`).toString("hex").slice(0, 8)}`,
  };
}

function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
