/** hostPath, and the persistent volumes that are paths of the node: hostPath and local. */
import { mkdir, open, stat } from "node:fs/promises";
import { codeOf } from "#lib/caught.ts";
import { VolumeError, type VolumePlugin } from "./volume-plugin.ts";

export const hostPathVolume: VolumePlugin = {
  name: "kubernetes.io/host-path",
  accepts: ({ volume, persistentVolume }) =>
    volume.hostPath !== undefined || persistentVolume?.spec.hostPath !== undefined,
  async setUp({ volume, persistentVolume, readOnly }) {
    const { path, type = "" } = volume.hostPath ?? persistentVolume?.spec.hostPath ?? { path: "" };
    await checkType(path, type);
    return { hostPath: path, readOnly };
  },
};

export const localVolume: VolumePlugin = {
  name: "kubernetes.io/local-volume",
  accepts: ({ persistentVolume }) => persistentVolume?.spec.local !== undefined,
  async setUp({ persistentVolume, readOnly }) {
    const path = persistentVolume?.spec.local?.path ?? "";
    const found = await fileType(path);
    if (found === undefined) throw new VolumeError(`path "${path}" does not exist`);
    return { hostPath: path, readOnly };
  },
};

type FileType = "Directory" | "File" | "Socket" | "CharDevice" | "BlockDevice" | "other";

async function checkType(path: string, type: string): Promise<void> {
  const found = await fileType(path);
  switch (type) {
    case "":
      return;
    case "DirectoryOrCreate":
      if (found === undefined) await mkdir(path, { recursive: true, mode: 0o755 });
      else if (found !== "Directory") throw wrongType(path, "a directory");
      return;
    case "FileOrCreate":
      if (found === undefined) await (await open(path, "a", 0o644)).close();
      else if (found !== "File") throw wrongType(path, "a file");
      return;
    default:
      if (found !== type) throw wrongType(path, WORDS[type] ?? type);
  }
}

const WORDS: Readonly<Record<string, string>> = {
  Directory: "a directory",
  File: "a file",
  Socket: "a socket file",
  CharDevice: "a character device",
  BlockDevice: "a block device",
};

function wrongType(path: string, what: string): VolumeError {
  return new VolumeError(`hostPath type check failed: ${path} is not ${what}`);
}

async function fileType(path: string): Promise<FileType | undefined> {
  try {
    const found = await stat(path);
    if (found.isDirectory()) return "Directory";
    if (found.isFile()) return "File";
    if (found.isSocket()) return "Socket";
    if (found.isCharacterDevice()) return "CharDevice";
    return found.isBlockDevice() ? "BlockDevice" : "other";
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined;
    throw error;
  }
}
