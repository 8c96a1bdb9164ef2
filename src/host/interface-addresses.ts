/** Addresses of the machine's network interfaces that are up, without those of IPv6's link-local range. */
import { networkInterfaces } from "node:os";

export function interfaceAddresses(): readonly string[] {
  return Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .filter(({ address }) => !address.startsWith("fe80:"))
    .map(({ address }) => address);
}
