/** The files that `k8ts snapshot save` keeps in a folder, and which of them are too many. */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { labelOfSnapshot, type SnapshotLabel } from "#store/snapshot.ts";

const NAME = /^\d{8}T\d{6}Z-\d+\.snapshot$/;

/** Names in the order of time. */
export function snapshotName(writtenAtMs: number, revision: number): string {
  const time = new Date(writtenAtMs).toISOString().replace(/[-:]|\.\d+/g, "");
  return `${time}-${revision}.snapshot`;
}

/** The oldest beyond `keep`. Files of other names are left alone. */
export function tooMany(names: readonly string[], keep: number): string[] {
  const own = names.filter((name) => NAME.test(name)).sort();
  return own.slice(0, Math.max(0, own.length - keep));
}

export type ListedSnapshot = { readonly file: string } & (
  | { readonly label: SnapshotLabel }
  | { readonly fault: string }
);

/** All that look like snapshots, oldest first. */
export async function listSnapshots(folder: string): Promise<ListedSnapshot[]> {
  const names = readdirSync(folder).filter((name) => name.endsWith(".snapshot"));
  return await Promise.all(
    names.sort().map(async (name): Promise<ListedSnapshot> => {
      const file = join(folder, name);
      try {
        return { file, label: await labelOfSnapshot(file) };
      } catch (error) {
        return { file, fault: error instanceof Error ? error.message : String(error) };
      }
    }),
  );
}
