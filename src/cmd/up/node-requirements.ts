/** What a real node needs of this machine. */
import { platform } from "node:os";
import { ensurePrograms, type NeededProgram } from "#host/debian-packages.ts";

const PROGRAMS: readonly NeededProgram[] = [
  { program: "containerd", package: "containerd" },
  { program: "runc", package: "runc" },
  { program: "/usr/lib/cni/bridge", package: "containernetworking-plugins" },
  { program: "iptables", package: "iptables" },
  { program: "nft", package: "nftables" },
  { program: "conntrack", package: "conntrack" },
];

/** Installs what is missing, with a line for each package. Returns why there can be no real node. */
export async function nodeRefusal(
  mayInstall: boolean,
  note: (text: string) => void,
  signal: AbortSignal,
): Promise<string | undefined> {
  if (platform() !== "linux") return "real nodes need Linux";
  if (process.getuid?.() !== 0) return "real nodes need root";
  const allowed = mayInstall && process.env.K8TS_NO_INSTALL !== "1";
  return ensurePrograms(PROGRAMS, {
    allowed,
    onInstall: (name) => note(`installing the Debian package ${name}`),
    signal,
  });
}
