/**
 * A machine without any network has loopback only, which pods cannot reach: it gets a link with an address of
 * its own while the cluster runs, so that pods find DNS and the API server there.
 */
import { networkInterfaces } from "node:os";
import { mustRun } from "#host/run-program.ts";
import type { Clock } from "#lib/time/clock.ts";
import { deleteLink, linkExists } from "#network/ip-command.ts";
import type { NetworkMarks } from "#network/network-marks.ts";

export const OFFLINE_ADDRESS = "192.168.249.1";

/** The kernel reports a carrier within a second. */
const CARRIER_WITHIN_MS = 3_000;
const LOOK_EVERY_MS = 10;

/**
 * Whether the machine needs the link, which is there then, and its address is listed among those of the
 * machine. One that is left of an earlier start goes otherwise.
 */
export async function ensureOfflineLink(
  { offlineLink }: NetworkMarks,
  clock: Clock,
  signal: AbortSignal,
): Promise<boolean> {
  if (hasNetworkBeside(offlineLink)) {
    if (Object.hasOwn(networkInterfaces(), offlineLink)) await deleteLink(offlineLink);
    return false;
  }
  if (!(await linkExists(offlineLink))) await addLink(offlineLink);
  await untilListed(() => hasAddress(offlineLink), clock, signal);
  return true;
}

async function addLink(offlineLink: string): Promise<void> {
  // A pair of veth with both ends here: every kernel that runs pods has it, unlike dummy links.
  const peer = `${offlineLink}p`;
  await mustRun("ip", ["link", "add", "name", offlineLink, "type", "veth", "peer", "name", peer]);
  await mustRun("ip", ["addr", "add", `${OFFLINE_ADDRESS}/32`, "dev", offlineLink]);
  for (const end of [offlineLink, peer]) await mustRun("ip", ["link", "set", end, "up"]);
}

/**
 * Node lists the addresses of links that are up and have a carrier, which the kernel notices some time after
 * both ends are up. Without this the API server would advertise loopback, and there would be no DNS.
 */
export async function untilListed(
  isListed: () => boolean,
  clock: Clock,
  signal: AbortSignal,
): Promise<void> {
  const endMs = clock.elapsedMs() + CARRIER_WITHIN_MS;
  while (!isListed() && clock.elapsedMs() < endMs) await clock.sleep(LOOK_EVERY_MS, signal);
}

function hasAddress(link: string): boolean {
  return (networkInterfaces()[link] ?? []).some(({ address }) => address === OFFLINE_ADDRESS);
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
