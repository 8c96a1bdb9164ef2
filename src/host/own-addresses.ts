/**
 * Addresses that the machine has beside those of its network: on the loopback interface, each with the
 * whole prefix, so that they answer on this machine and, by ARP, to its neighbours, and lead nowhere.
 */
import { mustRun, runProgram } from "./run-program.ts";

const DEVICE = "lo";
const ALREADY_THERE = /File exists|Address already assigned/;
const NOT_THERE = /Cannot assign requested address|Address not found/;

export interface OwnAddresses {
  list(signal?: AbortSignal): Promise<readonly string[]>;
  add(address: string, signal?: AbortSignal): Promise<void>;
  remove(address: string, signal?: AbortSignal): Promise<void>;
}

export const ownAddresses: OwnAddresses = {
  list: async (signal) => {
    const text = await mustRun("ip", ["-j", "addr", "show", "dev", DEVICE], { signal });
    return addressesIn(text);
  },
  add: (address, signal) => change("add", address, ALREADY_THERE, signal),
  remove: (address, signal) => change("del", address, NOT_THERE, signal),
};

function addressesIn(json: string): readonly string[] {
  const devices = JSON.parse(json) as readonly {
    readonly addr_info?: readonly { readonly local?: string }[];
  }[];
  return devices.flatMap(({ addr_info = [] }) => addr_info.flatMap(({ local }) => local ?? []));
}

async function change(
  verb: "add" | "del",
  address: string,
  fine: RegExp,
  signal: AbortSignal | undefined,
): Promise<void> {
  const isIpv6 = address.includes(":");
  const prefixed = `${address}/${isIpv6 ? 128 : 32}`;
  // The address is unique on the link, so duplicate address detection is skipped.
  const flags = isIpv6 && verb === "add" ? ["nodad"] : [];
  const args = ["addr", verb, prefixed, "dev", DEVICE, ...flags];
  const { exitCode, stderr } = await runProgram("ip", args, { signal });
  if (exitCode === 0 || fine.test(stderr)) return;
  throw new Error(`ip ${args.join(" ")}: ${stderr.trim()}`);
}
