/** The nftables table that leads packets to the ports on which the proxy listens. */
import type { ServicePortRules } from "../../rules/service-rules.ts";
import { addressType, ipWord } from "../nftables/render-base.ts";
import type { BaseRules } from "../writer.ts";

export const TABLE = "k8ts-userspace-proxy";

/** A Service port and the local ports that take its traffic; undefined if nothing does. */
export interface Redirect {
  readonly rules: ServicePortRules;
  readonly internalPort: number | undefined;
  readonly externalPort: number | undefined;
}

/** Replaces the whole table. */
export function renderRedirects(base: BaseRules, redirects: readonly Redirect[]): string {
  const ip = ipWord(base.family);
  const address = addressType(base.family);
  const service = `${address} . inet_proto . inet_service`;
  const facts = factsOf(redirects);
  const at = `${ip} daddr . meta l4proto . th dport`;
  const toNode =
    base.nodePortAddresses === "all"
      ? "fib daddr type local"
      : `${ip} daddr { ${base.nodePortAddresses.join(", ")} }`;
  const hasNodePorts = base.nodePortAddresses === "all" || base.nodePortAddresses.length > 0;
  const unused = base.serviceNetworks;
  const carried = "meta l4proto { tcp, udp }";
  const nodePorts = `${toNode} meta l4proto . th dport`;
  return [
    `add table ${ip} ${TABLE}`,
    `delete table ${ip} ${TABLE}`,
    `table ${ip} ${TABLE} {`,
    "chain reject-chain { reject; }",
    `map service-ports { type ${service} : inet_service; ${elements(facts.servicePorts)} }`,
    `map node-ports { type inet_proto . inet_service : inet_service; ${elements(facts.nodePorts)} }`,
    `set listeners { type inet_proto . inet_service; ${elements(facts.listeners)} }`,
    `map refused { type ${service} : verdict; ${elements(facts.refused)} }`,
    `map refused-node-ports { type inet_proto . inet_service : verdict; ${elements(facts.refusedNodePorts)} }`,
    "chain services {",
    `${carried} redirect to :${at} map @service-ports;`,
    hasNodePorts
      ? `${toNode} ${carried} redirect to :meta l4proto . th dport map @node-ports;`
      : "",
    "}",
    "chain refuse {",
    `${at} vmap @refused;`,
    unused.length === 0 ? "" : `${ip} daddr { ${unused.join(", ")} } reject;`,
    "}",
    "chain filter-prerouting { type filter hook prerouting priority dstnat - 10;",
    ...sourceRangeRules(ip, at, redirects),
    "}",
    "chain nat-prerouting { type nat hook prerouting priority dstnat; jump services; }",
    "chain nat-output { type nat hook output priority -100; jump services; }",
    "chain filter-input { type filter hook input priority 0;",
    // The proxy's own ports are not reachable directly.
    "meta l4proto . th dport @listeners ct status & dnat == 0 drop;",
    hasNodePorts ? `${nodePorts} vmap @refused-node-ports;` : "",
    "}",
    "chain filter-forward { type filter hook forward priority 0; ct state new jump refuse; }",
    "chain filter-output { type filter hook output priority 0; ct state new jump refuse; }",
    "}",
  ]
    .filter((line) => line !== "")
    .join("\n");
}

interface Facts {
  readonly servicePorts: string[];
  readonly nodePorts: string[];
  readonly listeners: string[];
  readonly refused: string[];
  readonly refusedNodePorts: string[];
}

function factsOf(redirects: readonly Redirect[]): Facts {
  const servicePorts = new Map<string, string>();
  const refused = new Map<string, string>();
  const nodePorts = new Map<string, string>();
  const refusedNodePorts = new Map<string, string>();
  const listeners = new Set<string>();
  for (const { rules, internalPort, externalPort } of redirects) {
    const { protocol, internal, external, nodePort } = rules;
    const at = (ip: string): string => `${ip} . ${protocol} . ${rules.port}`;
    const lead = (ip: string, port: number | undefined, refuse: string | undefined): void => {
      if (refuse !== undefined) refused.set(at(ip), verdictOf(refuse));
      else if (port !== undefined) servicePorts.set(at(ip), String(port));
    };
    lead(rules.clusterIp, internalPort, internal.refuse);
    for (const port of [internalPort, externalPort]) {
      if (port !== undefined) listeners.add(`${protocol} . ${port}`);
    }
    if (external === undefined) continue;
    for (const ip of [...rules.externalIps, ...rules.loadBalancerIps]) {
      lead(ip, externalPort, external.refuse);
    }
    if (nodePort === undefined) continue;
    const onNode = `${protocol} . ${nodePort}`;
    if (external.refuse !== undefined) refusedNodePorts.set(onNode, verdictOf(external.refuse));
    else if (externalPort !== undefined) nodePorts.set(onNode, String(externalPort));
  }
  const pairs = (map: ReadonlyMap<string, string>): string[] =>
    [...map].map(([key, value]) => `${key} : ${value}`);
  return {
    servicePorts: pairs(servicePorts),
    nodePorts: pairs(nodePorts),
    listeners: [...listeners],
    refused: pairs(refused),
    refusedNodePorts: pairs(refusedNodePorts),
  };
}

function sourceRangeRules(ip: string, at: string, redirects: readonly Redirect[]): string[] {
  return redirects.flatMap(({ rules: { sourceRanges, loadBalancerIps, protocol, port } }) =>
    sourceRanges === undefined || loadBalancerIps.length === 0
      ? []
      : [
          `${at} { ${loadBalancerIps.map((one) => `${one} . ${protocol} . ${port}`).join(", ")} } ${ip} saddr != { ${sourceRanges.join(", ")} } drop;`,
        ],
  );
}

function verdictOf(refuse: string): string {
  return refuse === "drop" ? "drop" : "goto reject-chain";
}

function elements(values: readonly string[]): string {
  return values.length === 0 ? "" : `elements = { ${values.join(", ")} };`;
}
