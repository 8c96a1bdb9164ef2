/** The parts of the iptables rules that no Service changes: built-in chains' jumps and fixed chains. */
import type { IpFamily } from "#api/meta/ip-family.ts";
import type { BaseRules } from "../writer.ts";
import { fromPods, type IptablesBase, MARK_MASQUERADE, MARK_OUTSIDE } from "./render-service.ts";

export interface Jump {
  readonly table: "filter" | "nat";
  readonly from: string;
  readonly to: string;
  readonly match: readonly string[];
}

const NEW = ["-m", "conntrack", "--ctstate", "NEW"];

/** In order; each is put at the head of its built-in chain. */
export const JUMPS: readonly Jump[] = [
  jump("filter", "INPUT", "KUBE-EXTERNAL-SERVICES", NEW, "externally-visible service portals"),
  jump("filter", "FORWARD", "KUBE-EXTERNAL-SERVICES", NEW, "externally-visible service portals"),
  jump("filter", "FORWARD", "KUBE-FORWARD", [], "forwarding rules"),
  jump("filter", "FORWARD", "KUBE-SERVICES", NEW, "service portals"),
  jump("filter", "OUTPUT", "KUBE-SERVICES", NEW, "service portals"),
  jump("filter", "INPUT", "KUBE-PROXY-FIREWALL", NEW, "load balancer firewall"),
  jump("filter", "OUTPUT", "KUBE-PROXY-FIREWALL", NEW, "load balancer firewall"),
  jump("filter", "FORWARD", "KUBE-PROXY-FIREWALL", NEW, "load balancer firewall"),
  jump("filter", "INPUT", "KUBE-LOCALNET", [], "loopback addresses"),
  jump("filter", "OUTPUT", "KUBE-LOCALNET", [], "loopback addresses"),
  jump("nat", "OUTPUT", "KUBE-SERVICES", [], "service portals"),
  jump("nat", "PREROUTING", "KUBE-SERVICES", [], "service portals"),
  jump("nat", "POSTROUTING", "KUBE-POSTROUTING", [], "postrouting rules"),
];

export const FILTER_CHAINS = [
  "KUBE-SERVICES",
  "KUBE-EXTERNAL-SERVICES",
  "KUBE-FORWARD",
  "KUBE-PROXY-FIREWALL",
  "KUBE-LOCALNET",
] as const;

export const NAT_CHAINS = [
  "KUBE-SERVICES",
  "KUBE-NODEPORTS",
  "KUBE-POSTROUTING",
  MARK_MASQUERADE,
  MARK_OUTSIDE,
] as const;

/** Rules that follow those of the Services, as `-A chain …` lines. */
export function filterTail(base: IptablesBase): string[] {
  const { family, masqueradeMark, serviceNetworks } = base;
  const mark = hex(masqueradeMark);
  const icmp = family === "IPv4" ? "icmp-port-unreachable" : "icmp6-port-unreachable";
  return [
    // Packets to cluster IPs that a rule took have another destination by now.
    ...serviceNetworks.map(
      (network) =>
        `-A KUBE-SERVICES -m comment --comment "service range, no rule" -d ${network} -j REJECT --reject-with ${icmp}`,
    ),
    // Packets from elsewhere to loopback addresses, which the kernel lets in for localhost node ports.
    ...(base.localhostNodePorts
      ? [
          "-A KUBE-LOCALNET -d 127.0.0.0/8 ! -s 127.0.0.0/8 -m conntrack ! --ctstate RELATED,ESTABLISHED,DNAT -j DROP",
        ]
      : []),
    "-A KUBE-FORWARD -m conntrack --ctstate INVALID -j DROP",
    `-A KUBE-FORWARD -m comment --comment "kubernetes forwarding rules" -m mark --mark ${mark}/${mark} -j ACCEPT`,
    ...hairpin(base).map((match) => `-A KUBE-FORWARD ${match} -j ACCEPT`),
    '-A KUBE-FORWARD -m comment --comment "kubernetes forwarding conntrack rule" -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT',
  ];
}

export function natTail(base: IptablesBase): string[] {
  const mark = hex(base.masqueradeMark);
  const nodePorts = '-A KUBE-SERVICES -m comment --comment "kubernetes service nodeports"';
  const loopback = base.family === "IPv4" ? "127.0.0.0/8" : "::1/128";
  const butLoopback = base.localhostNodePorts ? "" : `! -d ${loopback} `;
  const toNode =
    base.nodePortAddresses === "all"
      ? [`${nodePorts} -m addrtype --dst-type LOCAL ${butLoopback}-j KUBE-NODEPORTS`]
      : base.nodePortAddresses.map((ip) => `${nodePorts} -d ${ip} -j KUBE-NODEPORTS`);
  return [
    ...toNode,
    ...markRules(base),
    ...hairpin(base).map((match) => `-A KUBE-POSTROUTING ${match} -j MARK --or-mark ${mark}`),
    `-A KUBE-POSTROUTING -m mark ! --mark ${mark}/${mark} -j RETURN`,
    `-A KUBE-POSTROUTING -j MARK --xor-mark ${mark}`,
    '-A KUBE-POSTROUTING -m comment --comment "kubernetes service traffic requiring SNAT" -j MASQUERADE --random-fully',
  ];
}

/** The chains to which chains of Services lead. */
export function markRules(base: BaseRules): string[] {
  return [
    `-A ${MARK_MASQUERADE} -j MARK --or-mark ${hex(base.masqueradeMark)}`,
    ...fromPods(base).map((match) => `-A ${MARK_OUTSIDE} ${match} -j RETURN`),
    `-A ${MARK_OUTSIDE} -j ${MARK_MASQUERADE}`,
  ];
}

/** An endpoint that reaches itself through the Service must see another address than its own. */
function hairpin({ family, matchesHairpin }: IptablesBase): string[] {
  return matchesHairpin ? [`-m conntrack --ctstate DNAT ${sameAddresses(family)}`] : [];
}

/**
 * Matches packets whose source is their destination. The program compares both addresses of the header
 * by words of 32 bits: load one, keep it in X, load the other, leave unless they are equal.
 */
export function sameAddresses(family: IpFamily): string {
  const { source, destination, words } = ADDRESSES[family];
  const program = Array.from({ length: words }, (_, i) => {
    const instructionsLeft = (words - i - 1) * 4;
    return [
      `32 0 0 ${source + 4 * i}`,
      "7 0 0 0",
      `32 0 0 ${destination + 4 * i}`,
      `29 0 ${instructionsLeft + 1} 0`,
    ];
  }).flat();
  const code = [...program, "6 0 0 1", "6 0 0 0"];
  return `-m bpf --bytecode "${[code.length, ...code].join(",")}"`;
}

/** Where a header has its addresses. */
const ADDRESSES: Readonly<
  Record<
    IpFamily,
    { readonly source: number; readonly destination: number; readonly words: number }
  >
> = {
  IPv4: { source: 12, destination: 16, words: 1 },
  IPv6: { source: 8, destination: 24, words: 4 },
};

function jump(
  table: Jump["table"],
  from: string,
  to: string,
  match: readonly string[],
  what: string,
): Jump {
  return { table, from, to, match: [...match, "-m", "comment", "--comment", `kubernetes ${what}`] };
}

function hex(mark: number): string {
  return `0x${mark.toString(16)}`;
}
