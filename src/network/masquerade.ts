/**
 * Rules for packets that leave the range of pods: their source becomes the node, because there is
 * no route back to a pod from outside. Packets between pods keep their addresses. Firewalls that drop
 * forwarded packets (Docker's policy) get a rule that accepts those of pods.
 */
import { mustRun, runProgram } from "#host/run-program.ts";
import { isIpv6 } from "./decide-pod-routes.ts";

export interface Masquerade {
  readonly chain: string;
  /** Whose packets: the pods of this node, or the nodes of this machine. */
  readonly sources: readonly string[];
  /** To these they keep their sender. */
  readonly inside: readonly string[];
}

const MULTICAST = { "-4": "224.0.0.0/4", "-6": "ff00::/8" };
type Family = keyof typeof MULTICAST;
const FAMILIES: readonly Family[] = ["-4", "-6"];

export async function writeMasquerade({ chain, sources, inside }: Masquerade): Promise<void> {
  for (const family of FAMILIES) {
    const own = sources.filter((cidr) => isOf(family, cidr));
    if (own.length === 0) continue;
    const stay = [...inside.filter((cidr) => isOf(family, cidr)), MULTICAST[family]];
    const rules = [
      ...["*nat", `:${chain} - [0:0]`],
      ...stay.map((cidr) => `-A ${chain} -d ${cidr} -j RETURN`),
      ...own.map((cidr) => `-A ${chain} -s ${cidr} -j MASQUERADE --random-fully`),
      ...["COMMIT", "*filter", `:${chain} - [0:0]`],
      ...own.flatMap((cidr) => [
        `-A ${chain} -s ${cidr} -j ACCEPT`,
        `-A ${chain} -d ${cidr} -j ACCEPT`,
      ]),
      ...stay.slice(0, -1).map((cidr) => `-A ${chain} -d ${cidr} -j ACCEPT`),
      "COMMIT",
    ];
    await mustRun(program(family, "-restore"), ["-w", "5", "--noflush"], {
      input: `${rules.join("\n")}\n`,
    });
    await ensureJump(family, "nat", "POSTROUTING", chain);
    await ensureJump(family, "filter", "FORWARD", chain);
  }
}

/** Whatever is left of it, of both families. */
export async function removeMasquerade(chain: string): Promise<void> {
  for (const family of FAMILIES) {
    for (const [table, from] of [
      ["nat", "POSTROUTING"],
      ["filter", "FORWARD"],
    ] as const) {
      const run = (...args: string[]) =>
        runProgram(program(family), ["-w", "5", "-t", table, ...args]).catch(() => undefined);
      if ((await run("-S", chain))?.exitCode !== 0) continue;
      await run("-D", from, "-j", chain);
      await run("-F", chain);
      await run("-X", chain);
    }
  }
}

async function ensureJump(
  family: Family,
  table: string,
  from: string,
  chain: string,
): Promise<void> {
  const rule = ["-w", "5", "-t", table];
  const present = await runProgram(program(family), [...rule, "-C", from, "-j", chain]);
  if (present.exitCode === 0) return;
  await mustRun(program(family), [...rule, "-A", from, "-j", chain]);
}

function program(family: Family, ending = ""): string {
  return `${family === "-4" ? "iptables" : "ip6tables"}${ending}`;
}

function isOf(family: Family, cidr: string): boolean {
  return isIpv6(cidr) === (family === "-6");
}
