/** What a real node needs of this machine. */
import { platform } from "node:os";
import { cgroupRefusal } from "#host/cgroups.ts";
import { ensurePrograms, type NeededProgram } from "#host/debian-packages.ts";
import { BUSYBOX_PACKAGE, DEMO_IMAGE } from "#kubelet/images/demo-image.ts";

const PROGRAMS: readonly NeededProgram[] = [
  { program: "containerd", package: "containerd" },
  { program: "runc", package: "runc" },
  { program: "/usr/lib/cni/bridge", package: "containernetworking-plugins" },
  { program: "iptables", package: "iptables" },
  { program: "nft", package: "nftables" },
  { program: "conntrack", package: "conntrack" },
];

/** The demo image is made from it; a node runs without. */
const DEMO_PROGRAM: NeededProgram = { program: "busybox", package: BUSYBOX_PACKAGE };

/** Installs what is missing, with a line for each package. Returns why there can be no real node. */
export async function nodeRefusal(
  mayInstall: boolean,
  note: (text: string) => void,
  signal: AbortSignal,
): Promise<string | undefined> {
  if (platform() !== "linux") return "real nodes need Linux";
  if (process.getuid?.() !== 0) return "real nodes need root";
  const noCgroups = await cgroupRefusal();
  if (noCgroups !== undefined) return noCgroups;
  const allowed = mayInstall && process.env.K8TS_NO_INSTALL !== "1";
  const onInstall = (name: string): void => note(`installing the Debian package ${name}`);
  const refusal = await ensurePrograms(PROGRAMS, { allowed, onInstall, signal });
  if (refusal !== undefined) return refusal;
  const noDemo = await ensurePrograms([DEMO_PROGRAM], { allowed, onInstall, signal });
  if (noDemo !== undefined) note(`there is no image ${DEMO_IMAGE}: ${noDemo}`);
  return undefined;
}
