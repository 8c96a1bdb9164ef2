/** Settings of the kernel below /proc/sys; those of the network belong to the network namespace. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { codeOf } from "#lib/caught.ts";

/** A setting that this kernel does not have is left alone: `net/ipv4/ip_forward`. */
export async function setSysctl(path: string, value: string): Promise<void> {
  try {
    await writeFile(join("/proc/sys", path), value);
  } catch (error) {
    if (codeOf(error) !== "ENOENT") throw error;
  }
}
