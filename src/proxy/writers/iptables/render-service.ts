/**
 * One Service as iptables rules: lines for the shared chains, and chains of its own in the nat table.
 * Chains are named as upstream's kube-proxy names them, so that either one removes the other's.
 */

import { shortHash } from "#lib/text/short-hash.ts";
import type { Endpoint } from "../../rules/endpoint.ts";
import {
  type Policy,
  type Refusal,
  reachableEndpoints,
  type ServicePortRules,
} from "../../rules/service-rules.ts";
import type { BaseRules } from "../writer.ts";

export const MARK_MASQUERADE = "KUBE-MARK-MASQ";
/** Marks packets that do not come from a pod. */
export const MARK_OUTSIDE = "KUBE-MARK-OUTSIDE";

export interface IptablesLines {
  /** Rules of shared chains: `table chain`, and what follows `-A chain`. */
  readonly shared: Map<SharedChain, string[]>;
  /** Own chains of the nat table. */
  readonly chains: Map<string, readonly string[]>;
}

export type SharedChain =
  | "filter KUBE-SERVICES"
  | "filter KUBE-EXTERNAL-SERVICES"
  | "filter KUBE-PROXY-FIREWALL"
  | "nat KUBE-SERVICES"
  | "nat KUBE-NODEPORTS";

export function renderService(base: BaseRules, ports: readonly ServicePortRules[]): IptablesLines {
  const lines: IptablesLines = { shared: new Map(), chains: new Map() };
  for (const rules of ports) {
    addClusterIp(lines, base, rules);
    if (rules.external !== undefined) addExternal(lines, base, rules, rules.external);
    addPolicyChains(lines, base, rules);
  }
  return lines;
}

function addClusterIp(lines: IptablesLines, base: BaseRules, rules: ServicePortRules): void {
  const { internal, clusterIp } = rules;
  const to = `${comment(rules, "cluster IP")} ${destination(base, rules, clusterIp)}`;
  if (internal.refuse === undefined) {
    add(lines, "nat KUBE-SERVICES", `${to} -j ${policyChain(rules, internal.policy)}`);
  } else {
    add(lines, "filter KUBE-SERVICES", `${to} -j ${verdictOf(base, internal.refuse)}`);
  }
}

function addExternal(
  lines: IptablesLines,
  base: BaseRules,
  rules: ServicePortRules,
  external: NonNullable<ServicePortRules["external"]>,
): void {
  const { refuse, policy } = external;
  const { id, nodePort, protocol } = rules;
  const chain = chainName("EXT", id);
  const isReached = refuse !== "reject";
  const reach = (ip: string, what: string, target: string): void => {
    const to = `${comment(rules, what)} ${destination(base, rules, ip)}`;
    if (isReached) add(lines, "nat KUBE-SERVICES", `${to} -j ${target}`);
    if (refuse === undefined) return;
    add(lines, "filter KUBE-EXTERNAL-SERVICES", `${to} -j ${verdictOf(base, refuse)}`);
  };
  for (const ip of rules.externalIps) reach(ip, "external IP", chain);
  const firewall = chainName("FW", id);
  for (const ip of rules.loadBalancerIps) {
    reach(ip, "loadbalancer IP", rules.sourceRanges === undefined ? chain : firewall);
    if (rules.sourceRanges === undefined) continue;
    // Whatever the KUBE-FW chain let through has another destination by now.
    const to = `${comment(rules, "traffic not accepted")} ${destination(base, rules, ip)}`;
    add(lines, "filter KUBE-PROXY-FIREWALL", `${to} -j DROP`);
  }
  if (rules.sourceRanges !== undefined && isReached) {
    lines.chains.set(
      firewall,
      rules.sourceRanges.map((range) => `${comment(rules, "")} -s ${range} -j ${chain}`),
    );
  }
  if (nodePort !== undefined) {
    const to = `${comment(rules, "")} -p ${protocol} -m ${protocol} --dport ${nodePort}`;
    if (isReached) add(lines, "nat KUBE-NODEPORTS", `${to} -j ${chain}`);
    if (refuse !== undefined) {
      const local = `${to} -m addrtype --dst-type LOCAL -j ${verdictOf(base, refuse)}`;
      add(lines, "filter KUBE-EXTERNAL-SERVICES", local);
    }
  }
  if (isReached) lines.chains.set(chain, externalRules(base, rules, policy, refuse));
}

function externalRules(
  base: BaseRules,
  rules: ServicePortRules,
  policy: Policy,
  refuse: Refusal | undefined,
): string[] {
  const target = refuse === undefined ? [`-j ${policyChain(rules, policy)}`] : [];
  if (policy === "cluster") return [`-j ${MARK_MASQUERADE}`, ...target];
  if (rules.cluster.length === 0) return target;
  const cluster = policyChain(rules, "cluster");
  return [
    ...fromPods(base).map((match) => `${match} -j ${cluster}`),
    `-m addrtype --src-type LOCAL -j ${MARK_MASQUERADE}`,
    `-m addrtype --src-type LOCAL -j ${cluster}`,
    ...target,
  ];
}

function addPolicyChains(
  { chains }: IptablesLines,
  base: BaseRules,
  rules: ServicePortRules,
): void {
  for (const policy of ["cluster", "local"] as const) {
    const endpoints = rules[policy];
    if (endpoints.length === 0) continue;
    const isInternal = rules.internal.policy === policy;
    chains.set(policyChain(rules, policy), [
      ...(isInternal ? masqueradeClusterIp(base, rules) : []),
      ...balance(rules, endpoints),
    ]);
  }
  for (const endpoint of reachableEndpoints(rules)) {
    const { ip, port } = endpoint;
    const name = endpointChain(rules, endpoint);
    const to = base.family === "IPv4" ? `${ip}:${port}` : `[${ip}]:${port}`;
    const remember = rules.affinitySeconds === undefined ? "" : ` -m recent --name ${name} --set`;
    chains.set(name, [
      `${comment(rules, "")} -s ${ip}/${hostBits(base)} -j ${MARK_MASQUERADE}`,
      `${comment(rules, "")}${remember} -p ${rules.protocol} -m ${rules.protocol} -j DNAT --to-destination ${to}`,
    ]);
  }
}

/** Matches for packets that pods send; a packet needs one of them. Empty if pods cannot be recognized. */
export function fromPods({ podInterface, podNetworks }: BaseRules): string[] {
  if (podInterface !== undefined) return [`-i ${podInterface.replace(/\*$/, "+")}`];
  return podNetworks.map((network) => `-s ${network}`);
}

/** Traffic to the cluster IP from outside may leave for another node: answers must come back here. */
function masqueradeClusterIp(base: BaseRules, rules: ServicePortRules): string[] {
  const to = `${comment(rules, "cluster IP")} ${destination(base, rules, rules.clusterIp)}`;
  if (base.masqueradeAll) return [`${to} -j ${MARK_MASQUERADE}`];
  return fromPods(base).length === 0 ? [] : [`${to} -j ${MARK_OUTSIDE}`];
}

function balance(rules: ServicePortRules, endpoints: readonly Endpoint[]): string[] {
  const seconds = rules.affinitySeconds;
  const remembered = endpoints.map((endpoint) => {
    const name = endpointChain(rules, endpoint);
    return `-m recent --name ${name} --rcheck --seconds ${seconds} --reap -j ${name}`;
  });
  const random = endpoints.map((endpoint, i) => {
    const left = endpoints.length - i;
    const chance =
      left === 1 ? "" : `-m statistic --mode random --probability ${(1 / left).toFixed(10)} `;
    return `${comment(rules, `-> ${endpoint.ip}:${endpoint.port}`)} ${chance}-j ${endpointChain(rules, endpoint)}`;
  });
  return [...(seconds === undefined ? [] : remembered), ...random];
}

function add({ shared }: IptablesLines, chain: SharedChain, rule: string): void {
  const rules = shared.get(chain);
  if (rules === undefined) shared.set(chain, [rule]);
  else rules.push(rule);
}

function destination(base: BaseRules, { protocol, port }: ServicePortRules, ip: string): string {
  return `-d ${ip}/${hostBits(base)} -p ${protocol} -m ${protocol} --dport ${port}`;
}

function hostBits({ family }: BaseRules): number {
  return family === "IPv4" ? 32 : 128;
}

/** Iptables takes at most 255 characters. */
function comment({ id }: ServicePortRules, what: string): string {
  return `-m comment --comment "${`${id} ${what}`.trim().slice(0, 250)}"`;
}

function verdictOf({ family }: BaseRules, refuse: Refusal): string {
  if (refuse === "drop") return "DROP";
  return family === "IPv4"
    ? "REJECT --reject-with icmp-port-unreachable"
    : "REJECT --reject-with icmp6-port-unreachable";
}

function policyChain({ id }: ServicePortRules, policy: Policy): string {
  return chainName(policy === "cluster" ? "SVC" : "SVL", id);
}

function endpointChain({ id }: ServicePortRules, { ip, port }: Endpoint): string {
  return chainName("SEP", `${id} ${ip}:${port}`);
}

function chainName(role: string, id: string): string {
  return `KUBE-${role}-${shortHash(id, 16)}`;
}
