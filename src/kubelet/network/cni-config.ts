/**
 * The CNI configuration that connects pods when nothing else is installed: a bridge, addresses from
 * the node's podCIDRs, host ports. Its name sorts after those that network add-ons write, so that
 * theirs win.
 */

export const CNI_CONFIG_NAME = "99-k8ts-bridge.conflist";

export interface CniOptions {
  readonly podCidrs: readonly string[];
  readonly bridge?: string;
  readonly mtu?: number;
}

export function cniConfig({ podCidrs, bridge = "cni0", mtu }: CniOptions): string {
  const isIpv6 = (cidr: string): boolean => cidr.includes(":");
  const config = {
    cniVersion: "0.4.0",
    name: "k8ts",
    plugins: [
      {
        type: "bridge",
        bridge,
        isGateway: true,
        ipMasq: true,
        hairpinMode: true,
        ...(mtu === undefined ? {} : { mtu }),
        ipam: {
          type: "host-local",
          ranges: podCidrs.map((subnet) => [{ subnet }]),
          routes: podCidrs.map((cidr) => ({ dst: isIpv6(cidr) ? "::/0" : "0.0.0.0/0" })),
        },
      },
      { type: "portmap", capabilities: { portMappings: true } },
    ],
  };
  return `${JSON.stringify(config, undefined, 2)}\n`;
}
