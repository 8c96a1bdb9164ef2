/**
 * How packets get from the pods of one node to those of another.
 *
 * - `host-gw`: by routes to the other node where it is on the same link, by VXLAN where it is not.
 * - `vxlan`: always by VXLAN.
 * - `none`: an add-on of the user's own (Flannel, Calico, …) does it.
 */
export const POD_NETWORK_MODES = ["host-gw", "vxlan", "none"] as const;

export type PodNetworkMode = (typeof POD_NETWORK_MODES)[number];

/** What VXLAN adds to a packet over IPv4 and over IPv6. */
const VXLAN_BYTES = { IPv4: 50, IPv6: 70 };

/** Of a bridge and of veth. A machine without a network has only loopback, whose MTU is larger. */
const BRIDGE_MTU_MAX = 65_535;

export function podNetworkModeOf(text: string): PodNetworkMode | undefined {
  return POD_NETWORK_MODES.find((mode) => mode === text);
}

/** The largest packet that pods may send over a link. */
export function podMtu(mode: PodNetworkMode, linkMtu: number, isIpv6: boolean): number {
  const mtu = mode === "vxlan" ? vxlanMtu(linkMtu, isIpv6) : linkMtu;
  return Math.min(mtu, BRIDGE_MTU_MAX);
}

export function vxlanMtu(linkMtu: number, isIpv6: boolean): number {
  return linkMtu - VXLAN_BYTES[isIpv6 ? "IPv6" : "IPv4"];
}
