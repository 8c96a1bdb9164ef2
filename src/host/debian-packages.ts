/** Programs that come from Debian's packages, installed where that is possible and allowed. */
import { delimiter, join } from "node:path";
import { pathExists } from "./files.ts";
import { runProgram } from "./run-program.ts";

export interface NeededProgram {
  /** A name on the PATH, or a path. */
  readonly program: string;
  /** The Debian package that has it. */
  readonly package: string;
}

export interface InstallOptions {
  readonly allowed: boolean;
  /** Called before a package is installed. */
  onInstall(name: string): void;
  readonly signal?: AbortSignal;
}

/** Why a program is missing and stays so; undefined when all are there. */
export async function ensurePrograms(
  needed: readonly NeededProgram[],
  { allowed, onInstall, signal }: InstallOptions,
): Promise<string | undefined> {
  const missing: NeededProgram[] = [];
  for (const one of needed) if (!(await isInstalled(one.program))) missing.push(one);
  if (missing.length === 0) return undefined;
  const names = [...new Set(missing.map((one) => one.package))];
  if (!allowed) return `${names.join(", ")} not installed, and installing is not allowed`;
  if (!(await isInstalled("apt-get"))) return `${names.join(", ")} not installed`;
  const apt = async (args: readonly string[]): Promise<string | undefined> => {
    const env = { PATH: process.env.PATH ?? "", DEBIAN_FRONTEND: "noninteractive" };
    const result = await runProgram("apt-get", ["-qq", ...args], { env, signal });
    return result.exitCode === 0 ? undefined : result.stderr.trim().split("\n").at(-1);
  };
  await apt(["update"]); // an old list may still do
  for (const name of names) {
    onInstall(name);
    const fault = await apt(["install", "-y", "--no-install-recommends", name]);
    if (fault !== undefined) return `installing ${name} failed: ${fault}`;
  }
  return undefined;
}

async function isInstalled(program: string): Promise<boolean> {
  if (program.includes("/")) return pathExists(program);
  // The PATH of ordinary users lacks the sbin folders.
  const folders = [...(process.env.PATH ?? "").split(delimiter), "/usr/sbin", "/sbin"];
  for (const folder of folders) if (await pathExists(join(folder, program))) return true;
  return false;
}
