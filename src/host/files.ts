/** Files of the machine: reads that distinguish absence from failure, and atomic writes. */
import {
  type FileHandle,
  mkdir,
  open,
  readdir,
  readFile,
  rename,
  rm,
  stat,
} from "node:fs/promises";
import { dirname } from "node:path";
import { codeOf } from "#lib/caught.ts";

export interface WriteFileOptions {
  readonly mode?: number;
  /** The bytes are on the disk before the name points to them. */
  readonly durable?: boolean;
}

/** Undefined if the file does not exist. */
export async function readTextIfPresent(path: string): Promise<string | undefined> {
  return absentIfMissing(readFile(path, "utf8"));
}

/** Names in a folder; none if the folder does not exist. */
export async function listFolder(path: string): Promise<readonly string[]> {
  return (await absentIfMissing(readdir(path))) ?? [];
}

export async function pathExists(path: string): Promise<boolean> {
  return (await absentIfMissing(stat(path))) !== undefined;
}

/** Readers see the old content or the new, never a part. Missing parent folders are made. */
export async function writeFileWhole(
  path: string,
  content: string | Uint8Array,
  { mode = 0o644, durable = false }: WriteFileOptions = {},
): Promise<void> {
  const draft = `${path}.tmp`;
  const file = await openInFolder(draft, mode);
  try {
    await file.writeFile(content);
    await file.chmod(mode);
    if (durable) await file.sync();
  } finally {
    await file.close();
  }
  await rename(draft, path);
}

/** The folder is there nearly always: it is made only when the file cannot be opened for want of it. */
async function openInFolder(path: string, mode: number): Promise<FileHandle> {
  const file = await absentIfMissing(open(path, "w", mode));
  if (file !== undefined) return file;
  await mkdir(dirname(path), { recursive: true });
  return open(path, "w", mode);
}

/** Files, folders, or nothing: gone afterwards. Never follows a link and never leaves the folder. */
export async function removeTree(path: string): Promise<void> {
  await rm(path, { recursive: true, force: true });
}

async function absentIfMissing<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    const code = codeOf(error);
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    throw error;
  }
}
