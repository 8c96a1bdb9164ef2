/** How much space and how many files folders take. Counted by the program `du`, outside this process. */
import { runProgram } from "./run-program.ts";

export interface DiskUsage {
  readonly bytes: number;
  readonly inodes: number;
}

/** One program counts so many folders. */
const FOLDERS_MAX = 500;

/** By folder. One that is not there, or vanishes meanwhile, is left out. Other file systems below are not counted. */
export async function diskUsage(
  folders: readonly string[],
  signal?: AbortSignal,
): Promise<ReadonlyMap<string, DiskUsage>> {
  const found = new Map<string, DiskUsage>();
  for (let at = 0; at < folders.length; at += FOLDERS_MAX) {
    const part = folders.slice(at, at + FOLDERS_MAX);
    const [bytes, inodes] = await Promise.all([
      count(["--block-size=1"], part, signal),
      count(["--inodes"], part, signal),
    ]);
    for (const [folder, amount] of bytes) {
      found.set(folder, { bytes: amount, inodes: inodes.get(folder) ?? 0 });
    }
  }
  return found;
}

async function count(
  options: readonly string[],
  folders: readonly string[],
  signal: AbortSignal | undefined,
): Promise<ReadonlyMap<string, number>> {
  const args = ["--summarize", "--one-file-system", "--null", ...options, "--", ...folders];
  const { stdout } = await runProgram("du", args, { signal });
  const lines = stdout.split("\0").filter((line) => line !== "");
  return new Map(
    lines.map((line) => {
      const at = line.indexOf("\t");
      return [line.slice(at + 1), Number(line.slice(0, at))];
    }),
  );
}
