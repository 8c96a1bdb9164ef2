/**
 * One Service as nftables objects: elements of the shared sets and maps, and chains of its own where it
 * needs them: for external addresses, session affinity and many endpoints. Endpoints are picked by one
 * `dnat … map` rule; only session affinity needs a chain for each.
 */

import { shortHash } from "#lib/text/short-hash.ts";
import type { Endpoint } from "../../rules/endpoint.ts";
import { reachableEndpoints, type ServicePortRules } from "../../rules/service-rules.ts";
import type { BaseRules } from "../writer.ts";
import { addressType, fromPods, ipWord, markForMasquerade } from "./render-base.ts";
import { balanceChain, SHARED_ENDPOINTS_MAX } from "./shared-chains.ts";

/** What an element of a map leads to. */
export interface ElementValue {
  /** Empty for elements of a set. */
  readonly verdict: string;
  /** `address . port` of the endpoints in shared maps, in order of their positions. */
  readonly sockets: readonly string[];
}

export interface NftObjects {
  /** Values by `container key`. */
  readonly elements: Map<string, ElementValue>;
  /** Rules by the name of the chain. */
  readonly chains: Map<string, readonly string[]>;
  /** Definitions of dynamic sets by name. */
  readonly sets: Map<string, string>;
}

const NAME_LENGTH_MAX = 120;
const NONE: readonly string[] = [];

/** The endpoints of a Service port that needs no chain of its own; undefined if it needs one. */
export function sharedEndpoints(rules: ServicePortRules): readonly Endpoint[] | undefined {
  const { internal, external, affinitySeconds } = rules;
  if (external !== undefined || affinitySeconds !== undefined) return undefined;
  const endpoints = rules[internal.policy];
  const isFew = endpoints.length > 0 && endpoints.length <= SHARED_ENDPOINTS_MAX;
  return isFew ? endpoints : undefined;
}

export function renderService(base: BaseRules, ports: readonly ServicePortRules[]): NftObjects {
  const objects: NftObjects = { elements: new Map(), chains: new Map(), sets: new Map() };
  for (const rules of ports) {
    addElements(objects, rules);
    addChains(objects, base, rules);
  }
  return objects;
}

function addElements({ elements }: NftObjects, rules: ServicePortRules): void {
  const { protocol, port, clusterIp, internal, external, nodePort } = rules;
  const set = (element: string, verdict: string, sockets = NONE): void => {
    elements.set(element, { verdict, sockets });
  };
  const at = (ip: string): string => `${ip} . ${protocol} . ${port}`;
  set(`cluster-ips ${clusterIp}`, "");
  const shared = sharedEndpoints(rules);
  if (internal.refuse !== undefined) {
    set(`no-endpoint-services ${at(clusterIp)}`, verdictOf(internal.refuse));
  } else if (shared === undefined) {
    set(`service-ips ${at(clusterIp)}`, `goto ${policyChain(rules, internal.policy)}`);
  } else {
    const sockets = shared.map((to) => `${to.ip} . ${to.port}`);
    set(`service-ips ${at(clusterIp)}`, `goto ${balanceChain(protocol, shared.length)}`, sockets);
  }
  for (const { ip, port: endpointPort, isLocal } of reachableEndpoints(rules)) {
    if (!isLocal) continue;
    set(`hairpin-connections ${ip} . ${ip} . ${protocol} . ${endpointPort}`, "");
  }
  if (external === undefined) return;
  const goto = `goto ${chainName("external", rules.id)}`;
  for (const ip of new Set([...rules.externalIps, ...rules.loadBalancerIps])) {
    if (external.refuse !== "reject") set(`service-ips ${at(ip)}`, goto);
    if (external.refuse !== undefined) {
      set(`no-endpoint-services ${at(ip)}`, verdictOf(external.refuse));
    }
  }
  if (rules.sourceRanges !== undefined) {
    const firewall = `goto ${chainName("firewall", rules.id)}`;
    for (const ip of rules.loadBalancerIps) set(`firewall-ips ${at(ip)}`, firewall);
  }
  if (nodePort === undefined) return;
  const onNode = `${protocol} . ${nodePort}`;
  if (external.refuse !== "reject") set(`service-nodeports ${onNode}`, goto);
  if (external.refuse !== undefined) {
    set(`no-endpoint-nodeports ${onNode}`, verdictOf(external.refuse));
  }
}

function addChains(objects: NftObjects, base: BaseRules, rules: ServicePortRules): void {
  const { chains } = objects;
  const { external, id } = rules;
  if (sharedEndpoints(rules) !== undefined) return;
  if (external !== undefined && external.refuse !== "reject") {
    chains.set(chainName("external", id), externalRules(base, rules, external));
  }
  if (rules.sourceRanges !== undefined) {
    const sources = rules.sourceRanges.join(", ");
    const rule = `${ipWord(base.family)} saddr != { ${sources} } drop`;
    chains.set(chainName("firewall", id), [rule]);
  }
  for (const policy of ["cluster", "local"] as const) {
    const endpoints = rules[policy];
    if (endpoints.length === 0) continue;
    chains.set(policyChain(rules, policy), balance(base, rules, endpoints));
  }
  if (rules.affinitySeconds === undefined) return;
  const ip = ipWord(base.family);
  for (const endpoint of reachableEndpoints(rules)) {
    const set = affinitySet(rules, endpoint);
    const timeout = `timeout ${rules.affinitySeconds}s`;
    objects.sets.set(
      set,
      `{ type ${addressType(base.family)}; flags dynamic,timeout; ${timeout}; }`,
    );
    chains.set(endpointChain(rules, endpoint), [
      `update @${set} { ${ip} saddr }`,
      `meta l4proto ${rules.protocol} dnat to ${socketOf(base, endpoint)}`,
    ]);
  }
}

function externalRules(
  base: BaseRules,
  rules: ServicePortRules,
  { policy, refuse }: NonNullable<ServicePortRules["external"]>,
): string[] {
  const mark = markForMasquerade(base);
  const target = refuse === undefined ? [`goto ${policyChain(rules, policy)}`] : [];
  if (policy === "cluster") return [mark, ...target];
  if (rules.cluster.length === 0) return target;
  const cluster = policyChain(rules, "cluster");
  const pods = fromPods(base);
  return [
    ...(pods === undefined ? [] : [`${pods} goto ${cluster} comment "short-circuit pod traffic"`]),
    `fib saddr type local ${mark} comment "masquerade local traffic"`,
    `fib saddr type local goto ${cluster} comment "short-circuit local traffic"`,
    ...target,
  ];
}

function balance(
  base: BaseRules,
  rules: ServicePortRules,
  endpoints: readonly Endpoint[],
): string[] {
  const ip = ipWord(base.family);
  const random = `numgen random mod ${endpoints.length}`;
  if (rules.affinitySeconds === undefined) {
    const targets = endpoints.map((to, i) => `${i} : ${to.ip} . ${to.port}`).join(", ");
    return [`meta l4proto ${rules.protocol} dnat ${ip} to ${random} map { ${targets} }`];
  }
  const jumps = endpoints.map((to, i) => `${i} : goto ${endpointChain(rules, to)}`).join(", ");
  return [
    ...endpoints.map(
      (to) => `${ip} saddr @${affinitySet(rules, to)} goto ${endpointChain(rules, to)}`,
    ),
    `${random} vmap { ${jumps} }`,
  ];
}

function policyChain({ id }: ServicePortRules, policy: "cluster" | "local"): string {
  return chainName(policy === "cluster" ? "service" : "local", id);
}

function endpointChain({ id }: ServicePortRules, { ip, port }: Endpoint): string {
  return chainName("endpoint", `${id}__${ip}/${port}`);
}

function affinitySet({ id }: ServicePortRules, { ip, port }: Endpoint): string {
  return chainName("affinity", `${id}__${ip}/${port}`);
}

/** Readable, unique by its hash, and no longer than the kernel takes. Colons are not allowed. */
function chainName(role: string, id: string): string {
  const name = `${role}-${shortHash(`${role} ${id}`, 8)}-${id.replaceAll(":", ".")}`;
  return name.length > NAME_LENGTH_MAX ? `${name.slice(0, NAME_LENGTH_MAX - 3)}...` : name;
}

function socketOf({ family }: BaseRules, { ip, port }: Endpoint): string {
  return family === "IPv4" ? `${ip}:${port}` : `[${ip}]:${port}`;
}

function verdictOf(refuse: "reject" | "drop"): string {
  return refuse === "reject" ? "goto reject-chain" : "drop";
}
