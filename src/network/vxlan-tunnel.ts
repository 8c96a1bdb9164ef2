/** The VXLAN device of a node and what it knows of the other ends. */
import { mustRun, runProgram } from "#host/run-program.ts";
import type { TunnelRoute } from "./decide-pod-routes.ts";
import { isIpv6, networkAddress } from "./decide-pod-routes.ts";
import { linkExists } from "./ip-command.ts";
import { tunnelMac } from "./tunnel-mac.ts";

/** The port that Linux and Flannel use; the one of the standard is 4789. */
const PORT = 8472;

export interface VxlanOptions {
  readonly device: string;
  readonly vni: number;
  /** The node's own address, which tunnel packets come from. */
  readonly localAddress: string;
  readonly podCidrs: readonly string[];
  readonly mtu: number;
}

/** Makes the device; calling it again only sets its size and addresses. */
export async function ensureVxlan(options: VxlanOptions): Promise<void> {
  const { device, vni, localAddress, podCidrs, mtu } = options;
  const [firstCidr = ""] = podCidrs;
  if (!(await linkExists(device))) {
    await mustRun("ip", [
      ...["link", "add", device, "address", tunnelMac(firstCidr), "type", "vxlan"],
      ...["id", String(vni), "dstport", String(PORT), "local", localAddress, "nolearning"],
    ]);
  }
  await mustRun("ip", ["link", "set", device, "mtu", String(mtu), "up"]);
  for (const cidr of podCidrs) {
    const address = `${networkAddress(cidr)}/${isIpv6(cidr) ? 128 : 32}`;
    await mustRun("ip", ["addr", "replace", address, "dev", device]);
  }
}

/** Where the other end of a route is, and which hardware address it has. */
export async function setTunnelEnd(
  device: string,
  { via, endpoint, firstCidr }: TunnelRoute,
): Promise<void> {
  const mac = tunnelMac(firstCidr);
  await mustRun("ip", ["neigh", "replace", via, "lladdr", mac, "dev", device, "nud", "permanent"]);
  await mustRun("bridge", ["fdb", "replace", mac, "dev", device, "dst", endpoint, "self"]);
}

/** Ends of nodes that are gone. */
export async function forgetTunnelEnds(device: string, kept: ReadonlySet<string>): Promise<void> {
  const { exitCode, stdout } = await runProgram("bridge", ["-json", "fdb", "show", "dev", device]);
  if (exitCode !== 0) return;
  const entries = JSON.parse(stdout || "[]") as { readonly mac: string; readonly dst?: string }[];
  for (const { mac, dst } of entries) {
    if (dst === undefined || kept.has(mac)) continue;
    await runProgram("bridge", ["fdb", "del", mac, "dev", device, "dst", dst, "self"]);
  }
}
