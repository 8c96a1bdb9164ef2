/**
 * fsGroup: everything in a volume belongs to the group and may be read and written by it; new files
 * inherit the group. With OnRootMismatch nothing is done when the root is right already.
 */
import { chmod, lchown, lstat, readdir } from "node:fs/promises";
import { join } from "node:path";

const READ_WRITE = 0o660;
const READ_ONLY = 0o440;
const DIRECTORY = 0o2110;

export interface FsGroupOptions {
  readonly gid: number;
  readonly readOnly: boolean;
  readonly onRootMismatch: boolean;
}

export async function applyFsGroup(root: string, options: FsGroupOptions): Promise<void> {
  if (options.onRootMismatch && (await isRight(root, options))) return;
  await applyBelow(root, options);
}

async function isRight(root: string, { gid, readOnly }: FsGroupOptions): Promise<boolean> {
  const stat = await lstat(root);
  const wanted = (readOnly ? READ_ONLY : READ_WRITE) | DIRECTORY;
  return stat.gid === gid && (stat.mode & wanted) === wanted;
}

async function applyBelow(path: string, options: FsGroupOptions): Promise<void> {
  const stat = await lstat(path);
  await lchown(path, stat.uid, options.gid);
  if (stat.isSymbolicLink()) return;
  const access = options.readOnly ? READ_ONLY : READ_WRITE;
  if (!stat.isDirectory()) {
    await chmod(path, (stat.mode & 0o7777) | access);
    return;
  }
  for (const name of await readdir(path)) await applyBelow(join(path, name), options);
  await chmod(path, (stat.mode & 0o7777) | access | DIRECTORY);
}
