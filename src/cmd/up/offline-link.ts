/**
 * A machine without any network has loopback only, which pods cannot reach: it gets a link with an address of
 * its own while the cluster runs, so that pods find DNS and the API server there.
 */
import { networkInterfaces } from "node:os";
import { mustRun } from "#host/run-program.ts";
import { deleteLink, linkExists } from "#network/ip-command.ts";
import type { NetworkMarks } from "#network/network-marks.ts";

export const OFFLINE_ADDRESS = "192.168.249.1";

/** Whether the machine needs the link, which is there then. One that is left of an earlier start goes otherwise. */
export async function ensureOfflineLink({ offlineLink }: NetworkMarks): Promise<boolean> {
  if (hasNetworkBeside(offlineLink)) {
    if (Object.hasOwn(networkInterfaces(), offlineLink)) await deleteLink(offlineLink);
    return false;
  }
  if (await linkExists(offlineLink)) return true;
  // A pair of veth with both ends here: every kernel that runs pods has it, unlike dummy links.
  const peer = `${offlineLink}p`;
  await mustRun("ip", ["link", "add", "name", offlineLink, "type", "veth", "peer", "name", peer]);
  await mustRun("ip", ["addr", "add", `${OFFLINE_ADDRESS}/32`, "dev", offlineLink]);
  for (const end of [offlineLink, peer]) await mustRun("ip", ["link", "set", end, "up"]);
  return true;
}

export async function removeOfflineLink({ offlineLink }: NetworkMarks): Promise<void> {
  await deleteLink(offlineLink);
}

function hasNetworkBeside(link: string): boolean {
  return Object.entries(networkInterfaces()).some(
    ([name, addresses = []]) =>
      name !== link &&
      addresses.some(({ internal, address }) => !internal && !address.startsWith("fe80")),
  );
}
