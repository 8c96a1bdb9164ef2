/** What the kernel lets this process do, beyond being root. */
import { readFile } from "node:fs/promises";

/** Numbers of capability bits. */
export const CAP_SYS_RESOURCE = 24;

/** Whether the process has the capability in effect. */
export async function hasCapability(bit: number): Promise<boolean> {
  const status = await readFile("/proc/self/status", "utf8");
  const effective = /^CapEff:\s+([0-9a-f]+)$/m.exec(status)?.[1] ?? "0";
  return ((BigInt(`0x${effective}`) >> BigInt(bit)) & 1n) === 1n;
}
