/**
 * `vol_data.json`: what must be known to take a CSI volume down again, beside the folder that it is
 * mounted on. Upstream's names, so that either kubelet can clean up after the other.
 */
import { join } from "node:path";
import { listFolder, readTextIfPresent, writeFileWhole } from "#host/files.ts";

const FILE = "vol_data.json";

export interface VolumeData {
  /** The PersistentVolume's name, or the volume's in the pod. */
  readonly specVolID: string;
  readonly volumeHandle: string;
  readonly driverName: string;
  readonly nodeName: string;
  readonly attachmentID: string;
  readonly volumeLifecycleMode: "Persistent" | "Ephemeral";
}

export async function writeVolumeData(folder: string, data: Partial<VolumeData>): Promise<void> {
  await writeFileWhole(join(folder, FILE), `${JSON.stringify(data)}\n`);
}

/** Undefined if there is none or it cannot be read. */
export async function readVolumeData(folder: string): Promise<VolumeData | undefined> {
  const text = await readTextIfPresent(join(folder, FILE));
  if (text === undefined) return undefined;
  try {
    const data = JSON.parse(text) as Partial<VolumeData>;
    if (data.driverName === undefined || data.volumeHandle === undefined) return undefined;
    return data as VolumeData;
  } catch {
    return undefined;
  }
}

/** Of every mounted CSI volume of every pod. */
export async function listVolumeData(root: string): Promise<readonly VolumeData[]> {
  const found: VolumeData[] = [];
  for (const uid of await listFolder(join(root, "pods"))) {
    const folder = join(root, "pods", uid, "volumes", "kubernetes.io~csi");
    for (const name of await listFolder(folder)) {
      const data = await readVolumeData(join(folder, name));
      if (data !== undefined) found.push(data);
    }
  }
  return found;
}
