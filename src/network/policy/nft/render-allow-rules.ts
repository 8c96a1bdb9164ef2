/**
 * The rules of one policy in one direction as nftables chains. A packet that some rule allows leaves
 * the chain for good; any other packet returns.
 *
 * The number of nftables rules is linear in the size of the policy: where a rule has several peers and
 * several ports, the ports are in a chain of their own, to which every peer leads.
 */
import { IP_FAMILIES, type IpFamily, networksOf, outermost } from "#api/meta/ip-family.ts";
import { shortHash } from "#lib/text/short-hash.ts";
import type { AllowRule, PeerMatch, PortMatch, Protocol } from "../rules/policy-rules.ts";
import { mergeRanges } from "./merge-ranges.ts";

export function renderAllowRules(
  chain: string,
  rules: readonly AllowRule[],
  direction: "ingress" | "egress",
): ReadonlyMap<string, readonly string[]> {
  const allowed = direction === "ingress" ? "accept" : "goto ingress";
  const chains = new Map<string, readonly string[]>();
  const lines: string[] = [];
  rules.forEach(({ peers, ports }, i) => {
    const from = peers === "all" ? [""] : peerMatches(peers, direction);
    const at = ports === "all" ? [""] : portMatches(ports);
    if (from.length <= 1 || at.length <= 1) {
      for (const peer of from) for (const port of at) lines.push(join(peer, port, allowed));
      return;
    }
    const portChain = `ports-${shortHash(`${chain} ${i}`, 16)}`;
    chains.set(
      portChain,
      at.map((port) => join(port, allowed)),
    );
    lines.push(...from.map((peer) => join(peer, `jump ${portChain}`)));
  });
  return chains.set(chain, [...new Set(lines)]);
}

export function peerSet(key: string, family: IpFamily): string {
  return `peers-${shortHash(key, 16)}-${suffix(family)}`;
}

export function namedPortSet(key: string, family: IpFamily): string {
  return `port-${shortHash(key, 16)}-${suffix(family)}`;
}

function peerMatches(peers: readonly PeerMatch[], direction: "ingress" | "egress"): string[] {
  return IP_FAMILIES.flatMap((family) => {
    const field = `${suffix(family)} ${direction === "ingress" ? "saddr" : "daddr"}`;
    const matches: string[] = [];
    const open: string[] = [];
    for (const peer of peers) {
      if (peer.type === "pods") {
        matches.push(`${field} @${peerSet(peer.key, family)}`);
        continue;
      }
      const [cidr] = networksOf(family, [peer.cidr]);
      if (cidr === undefined) continue;
      if (peer.except.length === 0) open.push(cidr);
      else matches.push(`${field} ${cidr} ${field} != { ${peer.except.join(", ")} }`);
    }
    if (open.length > 0) matches.push(`${field} { ${outermost(open).join(", ")} }`);
    return matches;
  });
}

function portMatches(ports: readonly PortMatch[]): string[] {
  const ranges = new Map<Protocol, [number, number][]>();
  const matches: string[] = [];
  for (const port of ports) {
    if (port.type === "any") matches.push(`meta l4proto ${port.protocol}`);
    else if (port.type === "named") {
      for (const family of IP_FAMILIES) {
        const set = namedPortSet(port.key, family);
        matches.push(`${suffix(family)} daddr . ${port.protocol} dport @${set}`);
      }
    } else {
      const list = ranges.get(port.protocol) ?? [];
      ranges.set(port.protocol, list);
      list.push([port.from, port.to]);
    }
  }
  for (const [protocol, list] of ranges) {
    const merged = mergeRanges(list).map(([from, to]) => (from === to ? from : `${from}-${to}`));
    matches.push(`${protocol} dport { ${merged.join(", ")} }`);
  }
  return matches;
}

function suffix(family: IpFamily): "ip" | "ip6" {
  return family === "IPv4" ? "ip" : "ip6";
}

function join(...parts: readonly string[]): string {
  return parts.filter((part) => part !== "").join(" ");
}
