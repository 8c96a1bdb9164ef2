/** Which writers this machine can run. */

import type { IpFamily } from "#api/meta/ip-family.ts";
import { runProgram } from "#host/run-program.ts";
import type { Clock } from "#lib/time/clock.ts";
import type { ProxyMode } from "./proxy-mode.ts";
import { IptablesWriter } from "./writers/iptables/iptables-writer.ts";
import { NftablesWriter } from "./writers/nftables/nftables-writer.ts";
import { UserspaceWriter } from "./writers/userspace/userspace-writer.ts";
import type { RuleWriter } from "./writers/writer.ts";

/** Nftables if the kernel and the program are there, otherwise iptables. */
export async function detectMode(): Promise<ProxyMode> {
  return (await canRun("nft", ["list", "tables"])) ? "nftables" : "iptables";
}

export function writerOf(mode: ProxyMode, family: IpFamily, clock: Clock): RuleWriter {
  switch (mode) {
    case "nftables":
      return new NftablesWriter(family);
    case "iptables":
      return new IptablesWriter(family);
    case "userspace":
      return new UserspaceWriter(family, clock);
  }
}

/** Removes the rules of every mode that can be run here; the others cannot have made any. */
export async function removeRules(
  modes: readonly ProxyMode[],
  families: readonly IpFamily[],
  clock: Clock,
): Promise<void> {
  for (const mode of modes) {
    for (const family of families) {
      if (await isUsable(mode, family)) await writerOf(mode, family, clock).cleanup();
    }
  }
}

function isUsable(mode: ProxyMode, family: IpFamily): Promise<boolean> {
  if (mode !== "iptables") return canRun("nft", ["list", "tables"]);
  return canRun(family === "IPv4" ? "iptables" : "ip6tables", [
    "-w",
    "5",
    "-t",
    "nat",
    "-S",
    "OUTPUT",
  ]);
}

async function canRun(program: string, args: readonly string[]): Promise<boolean> {
  const result = await runProgram(program, args).catch(() => undefined);
  return result?.exitCode === 0;
}
