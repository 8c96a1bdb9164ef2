/** Mounts of the machine. Made by the programs `mount` and `umount`; read from the kernel. */
import { readFile } from "node:fs/promises";
import { release } from "node:os";
import { mustRun, runProgram } from "./run-program.ts";

export interface MountEntry {
  readonly mountPoint: string;
  readonly fsType: string;
  readonly source: string;
}

export async function listMounts(): Promise<readonly MountEntry[]> {
  const text = await readFile("/proc/self/mountinfo", "utf8");
  return text.split("\n").flatMap((line) => {
    const [before = "", after = ""] = line.split(" - ");
    const mountPoint = before.split(" ")[4];
    const [fsType = "", source = ""] = after.split(" ");
    return mountPoint === undefined
      ? []
      : [{ mountPoint: withoutOctal(mountPoint), fsType, source }];
  });
}

export async function isMountPoint(path: string): Promise<boolean> {
  return (await listMounts()).some(({ mountPoint }) => mountPoint === path);
}

/** Where the kernel can, its content is never swapped to a disk. */
export async function mountTmpfs(path: string, sizeBytes?: number): Promise<void> {
  const options = [
    ...(sizeBytes === undefined ? [] : [`size=${sizeBytes}`]),
    ...(hasNoswap(release()) ? ["noswap"] : []),
  ];
  const flags = options.length === 0 ? [] : ["-o", options.join(",")];
  await mustRun("mount", ["-t", "tmpfs", ...flags, "tmpfs", path]);
}

/** Linux has it from 6.4 on. */
function hasNoswap(kernel: string): boolean {
  const [major = 0, minor = 0] = kernel.split(".").map(Number.parseFloat);
  return major > 6 || (major === 6 && minor >= 4);
}

/** `source` may be a file; the target must be of the same sort. */
export async function mountBind(
  source: string,
  target: string,
  { readOnly = false, recursive = false } = {},
): Promise<void> {
  await mustRun("mount", [recursive ? "--rbind" : "--bind", source, target]);
  if (readOnly) await mustRun("mount", ["-o", "remount,ro,bind", target]);
}

export async function mountFs(
  fsType: string,
  source: string,
  target: string,
  options: readonly string[] = [],
): Promise<void> {
  const given = options.length === 0 ? [] : ["-o", options.join(",")];
  await mustRun("mount", ["-t", fsType, ...given, source, target]);
}

async function unmount(path: string): Promise<void> {
  const { exitCode, stderr } = await runProgram("umount", [path]);
  if (exitCode === 0 || /not mounted|no mount point|not found/.test(stderr)) return;
  await mustRun("umount", ["--lazy", path]);
}

/** Everything that is mounted at or below a folder, the deepest first. */
export async function unmountBelow(folder: string): Promise<void> {
  const below = (await listMounts())
    .map(({ mountPoint }) => mountPoint)
    .filter((path) => path === folder || path.startsWith(`${folder}/`))
    .sort((a, b) => b.length - a.length);
  for (const path of below) await unmount(path);
}

/** The kernel writes spaces, tabs, newlines and backslashes as octal numbers. */
function withoutOctal(text: string): string {
  return text.replace(/\\(\d{3})/g, (_, octal: string) =>
    String.fromCharCode(Number.parseInt(octal, 8)),
  );
}
