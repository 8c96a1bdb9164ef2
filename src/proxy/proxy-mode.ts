/** How the rules of Services come into the kernel. */
export const PROXY_MODES = ["nftables", "iptables", "userspace"] as const;
export type ProxyMode = (typeof PROXY_MODES)[number];

export function proxyModeOf(text: string): ProxyMode | undefined {
  return PROXY_MODES.find((mode) => mode === text);
}
