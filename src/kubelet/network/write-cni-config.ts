/** Writes the CNI configuration of the node's own pod network, once its pod CIDRs are known. */
import { join } from "node:path";
import { listFolder, readTextIfPresent, writeFileWhole } from "#host/files.ts";
import type { KubeletConfig } from "#kubelet/kubelet-config.ts";
import { CNI_CONFIG_NAME, cniConfig } from "./cni-config.ts";

/** Whether the file changed. Nothing is written where another network is installed. */
export async function writeCniConfig(
  { cniConfDir: folder, cni }: Pick<KubeletConfig, "cniConfDir" | "cni">,
  podCidrs: readonly string[],
): Promise<boolean> {
  if (folder === undefined) return false;
  const others = (await listFolder(folder)).filter(
    (name) => name !== CNI_CONFIG_NAME && /\.conf(list)?$/.test(name),
  );
  if (others.length > 0) return false;
  const path = join(folder, CNI_CONFIG_NAME);
  const content = cniConfig({ ...cni, podCidrs });
  if ((await readTextIfPresent(path)) === content) return false;
  await writeFileWhole(path, content);
  return true;
}
