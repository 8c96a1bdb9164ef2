/**
 * A path below a volume that a container may choose: never one that leads out of the volume through
 * links or `..`, not even if the content changes while it is looked at.
 */
import { chmod, lstat, mkdir, realpath, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { codeOf } from "#lib/caught.ts";
import { isMountPoint, mountBind } from "./mounts.ts";

/** Undefined if it is a path that may be joined to a volume's. */
export function whyBadSubpath(subpath: string): string | undefined {
  if (subpath.startsWith("/")) return `error SubPath \`${subpath}\` must not be an absolute path`;
  const goesBack = subpath.split("/").includes("..");
  return goesBack ? `unable to provision SubPath \`${subpath}\`: must not contain '..'` : undefined;
}

/**
 * Makes missing folders with the mode of the volume, checks that the result lies inside, and binds
 * it to `target`, where it cannot be replaced from inside the volume.
 */
export async function bindSubpath(volume: string, subpath: string, target: string): Promise<void> {
  const root = await realpath(volume);
  await makeBelow(root, subpath);
  const found = await realpath(join(root, subpath));
  if (found !== root && !found.startsWith(`${root}/`)) throw new Error("subpath leads outside");
  if (await isMountPoint(target)) return;
  const isFolder = (await stat(found)).isDirectory();
  await mkdir(isFolder ? target : join(target, ".."), { recursive: true });
  if (!isFolder) await writeFile(target, "", { flag: "a" });
  await mountBind(found, target);
}

async function makeBelow(root: string, subpath: string): Promise<void> {
  const { mode } = await stat(root);
  let path = root;
  for (const part of subpath.split("/").filter((one) => one !== "" && one !== ".")) {
    path = join(path, part);
    try {
      const found = await lstat(path);
      if (!found.isSymbolicLink()) continue;
      path = await realpath(path);
      if (path !== root && !path.startsWith(`${root}/`)) throw new Error("subpath leads outside");
    } catch (error) {
      if (codeOf(error) !== "ENOENT") throw error;
      await mkdir(path);
      await chmod(path, mode & 0o7777);
    }
  }
}
