/** Who may use what the cluster serves on the node's address: its pods and the machine itself. */
import { BlockList, isIPv6 } from "node:net";
import { networkInterfaces } from "node:os";

export function allowedSources(podRanges: readonly string[]): (address: string) => boolean {
  const sources = new BlockList();
  for (const range of podRanges) {
    const [address = "", bits = ""] = range.split("/");
    sources.addSubnet(address, Number(bits), familyOf(address));
  }
  const own = Object.values(networkInterfaces()).flatMap((all) => all ?? []);
  for (const { address } of own) sources.addAddress(address, familyOf(address));
  return (address) => {
    const plain = address.replace(/^::ffff:/, "");
    return sources.check(plain, familyOf(plain));
  };
}

function familyOf(address: string): "ipv4" | "ipv6" {
  return isIPv6(address) ? "ipv6" : "ipv4";
}
