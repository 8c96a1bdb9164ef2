/**
 * Renders policies as an nftables table of the family `inet`.
 *
 *     forward ─ established → accept
 *             ─ jump egress: from an isolated pod → its policies' chains: allowed → ingress; else drop
 *             ─ goto ingress: to an isolated pod → its policies' chains: allowed → accept; else drop
 *
 * Only forwarded packets are filtered: traffic between a node and its own pods always passes, as the
 * API promises (kubelet probes). Addresses are looked at after the translation of Services and before
 * masquerading, so that policies see pods.
 */
import { addressesOf, IP_FAMILIES, type IpFamily } from "#api/meta/ip-family.ts";
import { shortHash } from "#lib/text/short-hash.ts";
import type { Isolation, PolicyRuleSet } from "../rules/policy-rules.ts";
import type { NftSet, NftTable } from "./nft-table.ts";
import { namedPortSet, peerSet, renderAllowRules } from "./render-allow-rules.ts";

export const TABLE = "inet k8ts-network-policy";

const NAME_LENGTH_MAX = 120;

const NEIGHBOR_DISCOVERY =
  "nd-neighbor-solicit, nd-neighbor-advert, nd-router-solicit, nd-router-advert";

export function renderPolicies(rules: PolicyRuleSet): NftTable {
  const chains = new Map<string, readonly string[]>();
  for (const [id, { ingress, egress }] of rules.policies) {
    addAll(chains, renderAllowRules(policyChain("ingress", id), ingress, "ingress"));
    addAll(chains, renderAllowRules(policyChain("egress", id), egress, "egress"));
  }
  for (const direction of ["ingress", "egress"] as const) {
    for (const isolation of rules.isolated.values()) {
      const policies = isolation[direction];
      if (policies === undefined) continue;
      const jumps = policies.map((id) => `jump ${policyChain(direction, id)}`);
      chains.set(podChain(direction, policies), [...jumps, "drop"]);
    }
  }
  // Last: what they refer to is there by then.
  for (const [name, lines] of baseChains()) chains.set(name, lines);
  return { sets: setsOf(rules), chains };
}

function baseChains(): [string, string[]][] {
  const lookUp = (field: string, direction: string): string[] =>
    IP_FAMILIES.map(
      (family) => `${ipWord(family)} ${field} vmap @${isolatedMap(direction, family)}`,
    );
  return [
    ["ingress", [...lookUp("daddr", "ingress"), "accept"]],
    ["egress", lookUp("saddr", "egress")],
    [
      "filter",
      [
        "ct state established,related accept",
        `icmpv6 type { ${NEIGHBOR_DISCOVERY} } accept`,
        // A pod that reaches itself through a Service.
        ...IP_FAMILIES.map((f) => `${ipWord(f)} saddr . ${ipWord(f)} daddr @${selfSet(f)} accept`),
        "jump egress",
        "goto ingress",
      ],
    ],
  ];
}

function setsOf({ isolated, peers, namedPorts }: PolicyRuleSet): Map<string, NftSet> {
  const sets = new Map<string, NftSet>();
  for (const family of IP_FAMILIES) {
    const address = addressType(family);
    const own = [...isolated].flatMap(([ip, isolation]) =>
      addressesOf(family, [ip]).map((one) => [one, isolation] as const),
    );
    for (const direction of ["ingress", "egress"] as const) {
      const type = `${address} : verdict`;
      const elements = verdicts(own, direction);
      sets.set(isolatedMap(direction, family), { word: "map", type, elements });
    }
    const pairs = own.map(([ip]) => `${ip} . ${ip}`);
    sets.set(selfSet(family), plainSet(`${address} . ${address}`, pairs));
    for (const [key, ips] of peers) {
      sets.set(peerSet(key, family), plainSet(address, addressesOf(family, ips)));
    }
    for (const [key, ports] of namedPorts) {
      const at = ports.flatMap(({ ip, port }) =>
        addressesOf(family, [ip]).map((one) => `${one} . ${port}`),
      );
      sets.set(namedPortSet(key, family), plainSet(`${address} . inet_service`, at));
    }
  }
  return sets;
}

function verdicts(
  pods: readonly (readonly [string, Isolation])[],
  direction: "ingress" | "egress",
): Map<string, string> {
  return new Map(
    pods.flatMap(([ip, isolation]) => {
      const policies = isolation[direction];
      return policies === undefined ? [] : [[ip, `goto ${podChain(direction, policies)}`] as const];
    }),
  );
}

function plainSet(type: string, keys: readonly string[]): NftSet {
  return { word: "set", type, elements: new Map(keys.map((key) => [key, ""])) };
}

function isolatedMap(direction: string, family: IpFamily): string {
  return `${direction}-pods-${ipWord(family)}`;
}

function selfSet(family: IpFamily): string {
  return `self-${ipWord(family)}`;
}

/** Pods that the same policies select share a chain. */
function podChain(direction: string, policies: readonly string[]): string {
  return `pods-${direction}-${shortHash(policies.join(" "), 12)}`;
}

function policyChain(direction: string, id: string): string {
  const name = `policy-${direction}-${shortHash(id, 12)}-${id}`;
  return name.length > NAME_LENGTH_MAX ? `${name.slice(0, NAME_LENGTH_MAX - 3)}...` : name;
}

function ipWord(family: IpFamily): "ip" | "ip6" {
  return family === "IPv4" ? "ip" : "ip6";
}

function addressType(family: IpFamily): string {
  return family === "IPv4" ? "ipv4_addr" : "ipv6_addr";
}

function addAll<K, V>(into: Map<K, V>, from: ReadonlyMap<K, V>): void {
  for (const [key, value] of from) into.set(key, value);
}
