/** The address of this machine under which others reach what it serves. */
import { networkInterfaces } from "node:os";

/** The address that pods can reach; loopback only if the machine has no other. */
export function ownAddress(bindAddress: string): string {
  const usable = !/^(0\.0\.0\.0|::|127\.|::1$|localhost$)/.test(bindAddress);
  if (usable) return bindAddress;
  const all = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? []);
  const outside = all.filter(({ internal }) => !internal);
  const chosen = outside.find(({ family }) => family === "IPv4") ?? outside[0];
  return chosen?.address ?? "127.0.0.1";
}
