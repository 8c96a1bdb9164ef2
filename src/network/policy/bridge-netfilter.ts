/**
 * Packets between two pods on one bridge are switched, not routed. The kernel shows them to the forward
 * hook only with br_netfilter; the bridge and netdev families of nftables have no connection tracking
 * on common kernels (docs/decisions/0016-network-policy.md).
 */
import { writeFile } from "node:fs/promises";
import { pathExists } from "#host/files.ts";
import { runProgram } from "#host/run-program.ts";
import { messageOf } from "#lib/caught.ts";
import type { Logger } from "#lib/logger.ts";

const FOLDER = "/proc/sys/net/bridge";
const SETTINGS = ["bridge-nf-call-iptables", "bridge-nf-call-ip6tables"];

/** Switches it on for this network namespace. Policies between nodes work without it. */
export async function enableBridgeNetfilter(logger: Logger): Promise<void> {
  if (!(await pathExists(FOLDER))) {
    await runProgram("modprobe", ["br_netfilter"]).catch(() => undefined);
  }
  try {
    for (const setting of SETTINGS) await writeFile(`${FOLDER}/${setting}`, "1");
  } catch (error) {
    logger.warn("network policies between pods on one bridge are not enforced", {
      why: `br_netfilter is missing: ${messageOf(error)}`,
    });
  }
}
