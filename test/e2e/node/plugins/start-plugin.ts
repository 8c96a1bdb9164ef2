/** Starts a plug-in, a TypeScript program of this folder, inside the machine of a cluster. */
import type { ChildProcess } from "node:child_process";
import { createRequire } from "node:module";
import { fileURLToPath, pathToFileURL } from "node:url";
import type { NodeCluster } from "../cluster.ts";

/** By its address: the machine's programs do not start in this folder. */
const TSX = pathToFileURL(createRequire(import.meta.url).resolve("tsx")).href;

/** Resolves when it serves its socket. */
export async function startPlugin(
  { machine }: NodeCluster,
  file: string,
  ...args: readonly string[]
): Promise<ChildProcess> {
  const path = fileURLToPath(new URL(file, import.meta.url));
  const child = machine.start(process.execPath, ["--import", TSX, path, ...args]);
  let log = "";
  await new Promise<void>((resolve, reject) => {
    child.stdout?.on("data", (chunk: Buffer) => {
      if (String(chunk).includes("serving")) resolve();
    });
    child.stderr?.on("data", (chunk: Buffer) => {
      log += String(chunk);
    });
    child.on("exit", (code) => reject(new Error(`${file} ended with ${code}: ${log}`)));
  });
  return child;
}
