/** Decides what holds for all Services: where pods and cluster IPs are, where node ports answer. */
import type { Node } from "#api/generated/core.v1.ts";
import {
  addressesOf,
  type IpFamily,
  isInNetwork,
  networksOf,
  outermost,
} from "#api/meta/ip-family.ts";
import type { NodeFacts } from "./decide-service-rules.ts";

/** Networks, or "primary" for the addresses of the Node object. Empty: all addresses. */
export type NodePortSetting = readonly string[];

/** How packets that pods send are recognized. */
export const DETECT_LOCAL_MODES = [
  "BridgeInterface",
  "ClusterCIDR",
  "InterfaceNamePrefix",
  "NodeCIDR",
] as const;
export type DetectLocalMode = (typeof DETECT_LOCAL_MODES)[number];

export interface ProxyNode extends NodeFacts {
  readonly podCidrs: readonly string[];
}

export interface BaseFacts {
  readonly clusterCidrs: readonly string[];
  readonly detectLocalMode: DetectLocalMode;
  /** Of the modes by interface: its name, or the beginning of it. */
  readonly podInterface?: string;
  readonly nodePortAddresses: NodePortSetting;
  readonly interfaceAddresses: readonly string[];
  /** Whether node ports may answer at 127.0.0.1. */
  readonly localhostNodePorts: boolean;
  readonly masqueradeAll: boolean;
  readonly masqueradeBit: number;
  readonly serviceCidrs: readonly string[];
  readonly node: ProxyNode;
}

const EVERYTHING: Readonly<Record<IpFamily, string>> = { IPv4: "0.0.0.0/0", IPv6: "::/0" };
const LOOPBACK: Readonly<Record<IpFamily, string>> = { IPv4: "127.0.0.0/8", IPv6: "::1/128" };

export function decideBaseRules(
  family: IpFamily,
  facts: BaseFacts,
): {
  family: IpFamily;
  masqueradeAll: boolean;
  masqueradeMark: number;
  podNetworks: readonly string[];
  serviceNetworks: readonly string[];
  nodePortAddresses: readonly string[] | "all";
  localhostNodePorts: boolean;
  podInterface?: string;
} {
  const { clusterCidrs, detectLocalMode, node, serviceCidrs } = facts;
  const pods = detectLocalMode === "NodeCIDR" ? node.podCidrs : clusterCidrs;
  return {
    family,
    masqueradeAll: facts.masqueradeAll,
    masqueradeMark: 2 ** facts.masqueradeBit,
    podNetworks: networksOf(family, pods),
    serviceNetworks: outermost([...new Set(networksOf(family, serviceCidrs))].sort()),
    nodePortAddresses: nodePortAddresses(family, facts),
    localhostNodePorts: answersAtLoopback(family, facts),
    ...podInterfaceOf(facts),
  };
}

function podInterfaceOf({ detectLocalMode, podInterface = "" }: BaseFacts): {
  podInterface?: string;
} {
  if (detectLocalMode === "BridgeInterface") return { podInterface };
  return detectLocalMode === "InterfaceNamePrefix" ? { podInterface: `${podInterface}*` } : {};
}

/** An address that was given replaces those of the Node of its family. */
export function nodeFactsOf(node: Node | undefined, nodeName: string, givenIp?: string): ProxyNode {
  const addresses = node?.status?.addresses ?? [];
  const known = addresses.flatMap(({ type, address }) => (type === "InternalIP" ? [address] : []));
  return {
    nodeName,
    zone: node?.metadata.labels?.["topology.kubernetes.io/zone"] ?? "",
    nodeIps:
      givenIp === undefined
        ? known
        : [givenIp, ...known.filter((ip) => ip.includes(":") !== givenIp.includes(":"))],
    podCidrs: node?.spec.podCIDRs ?? [],
  };
}

function nodePortAddresses(family: IpFamily, facts: BaseFacts): readonly string[] | "all" {
  const setting = facts.nodePortAddresses;
  if (setting.length === 0 || setting.includes(EVERYTHING[family])) return "all";
  if (setting.includes("primary")) return addressesOf(family, facts.node.nodeIps);
  const networks = networksOf(family, setting);
  // A setting that names networks of the other family only does not limit this one.
  if (networks.length === 0) return "all";
  const loopback = answersAtLoopback(family, facts) ? ["127.0.0.1"] : [];
  const others = addressesOf(family, facts.interfaceAddresses)
    .filter((ip) => networks.some((network) => isInNetwork(ip, network)))
    .filter((ip) => !isInNetwork(ip, LOOPBACK[family]));
  return [...loopback, ...others].sort();
}

function answersAtLoopback(
  family: IpFamily,
  { localhostNodePorts, nodePortAddresses: setting }: BaseFacts,
): boolean {
  if (family === "IPv6" || !localhostNodePorts || setting.includes("primary")) return false;
  const networks = networksOf(family, setting);
  return networks.length === 0 || networks.some((network) => isInNetwork("127.0.0.1", network));
}
