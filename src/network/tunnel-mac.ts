/**
 * The hardware address of a node's end of the VXLAN tunnel. It follows from the node's pod range, so that
 * every node knows those of all others without asking.
 */
import { createHash } from "node:crypto";

const MAC_BYTES = 6;

export function tunnelMac(podCidr: string): string {
  const bytes = createHash("sha256").update(podCidr).digest().subarray(0, MAC_BYTES);
  // Locally administered, for one receiver.
  bytes[0] = (bytes[0]! & 0xfc) | 0x02;
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join(":");
}
