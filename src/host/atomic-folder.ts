/**
 * A folder whose files change all at once: they live in a folder with a time in its name, `..data`
 * points to it, and the visible names point through `..data`. Readers never see half of an update.
 */
import {
  chmod,
  chown,
  lstat,
  mkdir,
  readlink,
  rename,
  rm,
  symlink,
  writeFile,
} from "node:fs/promises";
import { dirname, join } from "node:path";
import { codeOf } from "#lib/caught.ts";
import { listFolder } from "./files.ts";

const DATA = "..data";
const DATA_DRAFT = "..data_tmp";

export interface FileContent {
  readonly bytes: Uint8Array;
  readonly mode: number;
  /** Owner, if not the one of the kubelet. */
  readonly uid?: number | undefined;
}

export interface AtomicWrite {
  /** By path below the folder: `a`, `sub/b`. */
  readonly files: ReadonlyMap<string, FileContent>;
  readonly gid?: number | undefined;
  /** Makes the name of the new folder unique. */
  readonly stamp: string;
}

/** Nothing is written when the files are what they were: `isSame` compares with what is there. */
export async function writeAtomicFolder(folder: string, write: AtomicWrite): Promise<void> {
  const old = await linkTarget(join(folder, DATA));
  const next = `..${write.stamp}`;
  const nextPath = join(folder, next);
  await mkdir(nextPath, { recursive: true, mode: 0o755 });
  await chmod(nextPath, 0o755);
  for (const [path, file] of write.files) {
    const target = join(nextPath, path);
    await mkdir(dirname(target), { recursive: true, mode: 0o755 });
    await writeFile(target, file.bytes);
    await chmod(target, file.mode);
    if (file.uid !== undefined || write.gid !== undefined) {
      await chown(target, file.uid ?? 0, write.gid ?? 0);
    }
  }
  if (write.gid !== undefined) {
    await chown(nextPath, 0, write.gid);
    await chmod(nextPath, 0o2755);
  }
  await rm(join(folder, DATA_DRAFT), { force: true });
  await symlink(next, join(folder, DATA_DRAFT));
  await rename(join(folder, DATA_DRAFT), join(folder, DATA));
  await linkVisible(folder, write.files);
  if (old !== undefined && old !== next)
    await rm(join(folder, old), { recursive: true, force: true });
}

/** One link for each name at the top; names that are gone lose theirs. */
async function linkVisible(folder: string, files: ReadonlyMap<string, unknown>): Promise<void> {
  const wanted = new Set([...files.keys()].map((path) => path.split("/")[0]!));
  for (const name of await listFolder(folder)) {
    if (name.startsWith("..") || wanted.has(name)) continue;
    await rm(join(folder, name), { recursive: true, force: true });
  }
  for (const name of wanted) {
    if ((await linkTarget(join(folder, name))) === undefined) {
      await symlink(join(DATA, name), join(folder, name));
    }
  }
}

async function linkTarget(path: string): Promise<string | undefined> {
  try {
    const stat = await lstat(path);
    return stat.isSymbolicLink() ? await readlink(path) : undefined;
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined;
    throw error;
  }
}
