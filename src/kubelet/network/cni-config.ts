/**
 * The CNI configuration that connects pods when nothing else is installed: a bridge, addresses from
 * the node's podCIDRs, host ports. Its name sorts after those that network add-ons write, so that
 * theirs win.
 */

export const CNI_CONFIG_NAME = "99-k8ts-bridge.conflist";

/** How the pods of a node are connected, where the defaults do not fit. */
export interface CniSettings {
  /** `cni0` unless given. */
  readonly bridge?: string;
  readonly mtu?: number;
  /** Where given addresses are noted; a folder for all nodes of the machine unless given. */
  readonly addressesDir?: string;
  /** Packets that leave the node's own range get its address; false where the pod network does that. */
  readonly masquerade?: boolean;
}

export interface CniOptions extends CniSettings {
  readonly podCidrs: readonly string[];
}

export function cniConfig(options: CniOptions): string {
  const { podCidrs, bridge = "cni0", mtu, addressesDir, masquerade = true } = options;
  const isIpv6 = (cidr: string): boolean => cidr.includes(":");
  const config = {
    cniVersion: "0.4.0",
    name: "k8ts",
    plugins: [
      {
        type: "bridge",
        bridge,
        isGateway: true,
        ipMasq: masquerade,
        hairpinMode: true,
        ...(mtu === undefined ? {} : { mtu }),
        ipam: {
          type: "host-local",
          ...(addressesDir === undefined ? {} : { dataDir: addressesDir }),
          ranges: podCidrs.map((subnet) => [{ subnet }]),
          routes: podCidrs.map((cidr) => ({ dst: isIpv6(cidr) ? "::/0" : "0.0.0.0/0" })),
        },
      },
      { type: "portmap", capabilities: { portMappings: true } },
    ],
  };
  return `${JSON.stringify(config, undefined, 2)}\n`;
}
