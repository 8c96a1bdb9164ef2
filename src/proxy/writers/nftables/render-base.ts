/**
 * The nftables table `kube-proxy` without any Service: hooks, sets, maps and the chains that look up
 * packets in them. Names are those of upstream's kube-proxy, so that either one removes the other's.
 */
import type { BaseRules } from "../writer.ts";

export const TABLE = "kube-proxy";

export function tableName({ family }: BaseRules): string {
  return `${ipWord(family)} ${TABLE}`;
}

export function ipWord(family: BaseRules["family"]): "ip" | "ip6" {
  return family === "IPv4" ? "ip" : "ip6";
}

export function addressType(family: BaseRules["family"]): string {
  return family === "IPv4" ? "ipv4_addr" : "ipv6_addr";
}

export function markForMasquerade({ masqueradeMark }: BaseRules): string {
  return `meta mark set mark or ${hex(masqueradeMark)}`;
}

/** Matches packets of pods, or of anything else if `negated`. Undefined if pod networks are unknown. */
export function fromPods(base: BaseRules, negated = false): string | undefined {
  const not = negated ? "!= " : "";
  if (base.podInterface !== undefined) return `iifname ${not}"${base.podInterface}"`;
  if (base.podNetworks.length === 0) return undefined;
  return `${ipWord(base.family)} saddr ${not}{ ${base.podNetworks.join(", ")} }`;
}

/** Replaces the whole table. The text is part of a transaction. */
export function renderBase(base: BaseRules): string {
  const table = tableName(base);
  return [
    `add table ${table}`,
    `delete table ${table}`,
    `table ${table} {`,
    '  comment "rules for kube-proxy"',
    ...[...setsAndMaps(base), ...hooks(), ...lookups(base)].map((line) => `  ${line}`),
    "}",
  ].join("\n");
}

function setsAndMaps({ family, nodePortAddresses }: BaseRules): string[] {
  const address = addressType(family);
  const service = `${address} . inet_proto . inet_service`;
  const nodePortSet =
    nodePortAddresses === "all"
      ? []
      : [`set nodeport-ips { type ${address}; ${elements(nodePortAddresses)} }`];
  return [
    `set cluster-ips { type ${address}; }`,
    `set hairpin-connections { type ${address} . ${service}; }`,
    ...nodePortSet,
    `map service-ips { type ${service} : verdict; }`,
    "map service-nodeports { type inet_proto . inet_service : verdict; }",
    `map no-endpoint-services { type ${service} : verdict; }`,
    "map no-endpoint-nodeports { type inet_proto . inet_service : verdict; }",
    `map firewall-ips { type ${service} : verdict; }`,
  ];
}

function elements(values: readonly string[]): string {
  return values.length === 0 ? "" : `elements = { ${values.join(", ")} };`;
}

function hooks(): string[] {
  const firewall = ["ct state new jump firewall-check"];
  const services = "ct state new jump service-endpoints-check";
  const clusterIps = "ct state new jump cluster-ips-check";
  return [
    ...hook("filter-prerouting-pre-dnat", "filter", "prerouting", "dstnat - 10", firewall),
    ...hook("filter-output-pre-dnat", "filter", "output", "-110", firewall),
    ...hook("filter-input", "filter", "input", "0", [
      "ct state new jump nodeport-endpoints-check",
      services,
    ]),
    ...hook("filter-forward", "filter", "forward", "0", [services, clusterIps]),
    ...hook("filter-output", "filter", "output", "0", [services, clusterIps]),
    ...hook("nat-prerouting", "nat", "prerouting", "dstnat", ["jump services"]),
    ...hook("nat-output", "nat", "output", "-100", ["jump services"]),
    ...hook("nat-postrouting", "nat", "postrouting", "srcnat", ["jump masquerading"]),
  ];
}

function hook(
  name: string,
  type: string,
  at: string,
  priority: string,
  rules: readonly string[],
): string[] {
  return chain(name, [`type ${type} hook ${at} priority ${priority};`, ...rules]);
}

function lookups(base: BaseRules): string[] {
  const ip = ipWord(base.family);
  const destination = `${ip} daddr . meta l4proto . th dport`;
  const isAll = base.nodePortAddresses === "all";
  const notLoopback = base.family === "IPv4" ? "ip daddr != 127.0.0.0/8" : "ip6 daddr != ::1";
  const toNode = isAll ? `fib daddr type local ${notLoopback}` : `${ip} daddr @nodeport-ips`;
  const toNodeInput = isAll ? notLoopback : `${ip} daddr @nodeport-ips`;
  const unused = base.serviceNetworks;
  return [
    ...chain("reject-chain", ["reject"]),
    ...chain("services", [
      ...masqueradeClusterIps(base),
      `${destination} vmap @service-ips`,
      `${toNode} meta l4proto . th dport vmap @service-nodeports`,
    ]),
    ...chain("service-endpoints-check", [`${destination} vmap @no-endpoint-services`]),
    ...chain("nodeport-endpoints-check", [
      `${toNodeInput} meta l4proto . th dport vmap @no-endpoint-nodeports`,
    ]),
    ...chain("firewall-check", [`${destination} vmap @firewall-ips`]),
    ...chain("cluster-ips-check", [
      `${ip} daddr @cluster-ips reject comment "Reject traffic to invalid ports of ClusterIPs"`,
      ...(unused.length === 0
        ? []
        : [
            `${ip} daddr { ${unused.join(", ")} } drop comment "Drop traffic to unallocated ClusterIPs"`,
          ]),
    ]),
    ...chain("masquerading", masquerading(base)),
  ];
}

function masquerading({ family, masqueradeMark }: BaseRules): string[] {
  const ip = ipWord(family);
  const mark = hex(masqueradeMark);
  const connection = `${ip} saddr . ${ip} daddr . meta l4proto . th dport`;
  return [
    `mark and ${mark} != 0 meta mark set mark xor ${mark} masquerade fully-random`,
    // An endpoint that reaches itself through the Service must see another address than its own.
    `ct status dnat ${connection} @hairpin-connections masquerade fully-random`,
  ];
}

/** Traffic to cluster IPs from outside may leave for another node: answers must come back here. */
function masqueradeClusterIps(base: BaseRules): string[] {
  const toClusterIps = `${ipWord(base.family)} daddr @cluster-ips`;
  const mark = markForMasquerade(base);
  if (base.masqueradeAll) return [`${toClusterIps} ${mark}`];
  const outside = fromPods(base, true);
  return outside === undefined ? [] : [`${toClusterIps} ${outside} ${mark}`];
}

function chain(name: string, rules: readonly string[]): string[] {
  return [`chain ${name} {`, ...rules.map((rule) => `  ${rule}`), "}"];
}

function hex(mark: number): string {
  return `0x${mark.toString(16)}`;
}
