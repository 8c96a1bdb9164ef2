/**
 * One Service as iptables rules: lines for the shared chains, and chains of its own in the nat table.
 * Chains are named as upstream's kube-proxy names them, so that either one removes the other's.
 *
 * An endpoint has a chain of its own (KUBE-SEP) only with session affinity, or where the kernel cannot
 * recognize hairpin packets by themselves. Otherwise the chain of the Service translates directly, which
 * is a tenth of the chains and a third of the rules for `iptables-restore` to write.
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

export interface IptablesBase extends BaseRules {
  /** Whether the kernel can compare source and destination of a packet (`-m bpf`). */
  readonly matchesHairpin: boolean;
}

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

export function renderService(
  base: IptablesBase,
  ports: readonly ServicePortRules[],
): IptablesLines {
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
  // Without any endpoint all clients are refused, those outside the source ranges too, as upstream's.
  const sourceRanges = isReached ? rules.sourceRanges : undefined;
  for (const ip of rules.loadBalancerIps) {
    reach(ip, "loadbalancer IP", sourceRanges === undefined ? chain : firewall);
    if (sourceRanges === undefined) continue;
    // Whatever the KUBE-FW chain let through has another destination by now.
    const to = `${comment(rules, "traffic not accepted")} ${destination(base, rules, ip)}`;
    add(lines, "filter KUBE-PROXY-FIREWALL", `${to} -j DROP`);
  }
  if (sourceRanges !== undefined) {
    lines.chains.set(
      firewall,
      sourceRanges.map((range) => `${comment(rules, "")} -s ${range} -j ${chain}`),
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
  base: IptablesBase,
  rules: ServicePortRules,
): void {
  const needsEndpointChains = rules.affinitySeconds !== undefined || !base.matchesHairpin;
  const targetOf = (endpoint: Endpoint): string =>
    needsEndpointChains
      ? `${comment(rules, `-> ${endpoint.ip}:${endpoint.port}`)} -j ${endpointChain(rules, endpoint)}`
      : translate(base, rules, endpoint);
  for (const policy of ["cluster", "local"] as const) {
    const endpoints = rules[policy];
    if (endpoints.length === 0) continue;
    const isInternal = rules.internal.policy === policy;
    chains.set(policyChain(rules, policy), [
      ...(isInternal ? masqueradeClusterIp(base, rules) : []),
      ...(rules.affinitySeconds === undefined ? [] : remembered(rules, endpoints)),
      ...endpoints.map((endpoint, i) => chance(endpoints.length - i) + targetOf(endpoint)),
    ]);
  }
  if (needsEndpointChains) addEndpointChains(chains, base, rules);
}

function addEndpointChains(
  chains: IptablesLines["chains"],
  base: IptablesBase,
  rules: ServicePortRules,
): void {
  for (const endpoint of reachableEndpoints(rules)) {
    const name = endpointChain(rules, endpoint);
    const remember = rules.affinitySeconds === undefined ? "" : `-m recent --name ${name} --set `;
    const hairpin = `${comment(rules, "")} -s ${endpoint.ip}/${hostBits(base)} -j ${MARK_MASQUERADE}`;
    chains.set(name, [
      ...(base.matchesHairpin ? [] : [hairpin]),
      `${comment(rules, "")} ${remember}${translate(base, rules, endpoint)}`,
    ]);
  }
}

function translate({ family }: BaseRules, { protocol }: ServicePortRules, to: Endpoint): string {
  const socket = family === "IPv4" ? `${to.ip}:${to.port}` : `[${to.ip}]:${to.port}`;
  return `-p ${protocol} -j DNAT --to-destination ${socket}`;
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

/** Leads clients that came before to the endpoint that they had. */
function remembered(rules: ServicePortRules, endpoints: readonly Endpoint[]): string[] {
  return endpoints.map((endpoint) => {
    const name = endpointChain(rules, endpoint);
    return `-m recent --name ${name} --rcheck --seconds ${rules.affinitySeconds} --reap -j ${name}`;
  });
}

/** One of so many endpoints is left to choose: each has the same chance. */
function chance(left: number): string {
  return left === 1 ? "" : `-m statistic --mode random --probability ${(1 / left).toFixed(10)} `;
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
