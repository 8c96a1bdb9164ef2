/** `dra_manager_state`: the claims that drivers have prepared, over restarts of the kubelet. */
import { join } from "node:path";
import { readTextIfPresent, writeFileWhole } from "#host/files.ts";
import { dataChecksum } from "#kubelet/resize/data-checksum.ts";
import type { PreparedDevice } from "./dra-plugins.ts";

const FILE = "dra_manager_state";

export interface PreparedClaim {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  /** By driver; a driver without an entry in `devices` was not asked or did not answer yet. */
  readonly drivers: readonly string[];
  readonly devices: Readonly<Record<string, readonly PreparedDevice[]>>;
  readonly podUids: readonly string[];
}

export async function writeDraState(root: string, claims: readonly PreparedClaim[]): Promise<void> {
  const data = JSON.stringify(claims);
  const text = JSON.stringify({ data, checksum: dataChecksum(data) });
  await writeFileWhole(join(root, FILE), text, { mode: 0o600 });
}

/** A file that is missing or damaged counts as empty. */
export async function readDraState(root: string): Promise<readonly PreparedClaim[]> {
  const text = await readTextIfPresent(join(root, FILE));
  if (text === undefined) return [];
  try {
    const { data, checksum } = JSON.parse(text) as { data: string; checksum: number };
    return dataChecksum(data) === checksum ? (JSON.parse(data) as PreparedClaim[]) : [];
  } catch {
    return [];
  }
}
