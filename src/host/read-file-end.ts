/** The last bytes of a file, whatever its size. Undefined if there is no such file. */
import { open } from "node:fs/promises";
import { codeOf } from "#lib/caught.ts";

export async function readFileEnd(path: string, bytesMax: number): Promise<string | undefined> {
  try {
    const file = await open(path, "r");
    try {
      const { size } = await file.stat();
      const length = Math.min(size, bytesMax);
      const { buffer, bytesRead } = await file.read(
        Buffer.alloc(length),
        0,
        length,
        Math.max(0, size - length),
      );
      return buffer.subarray(0, bytesRead).toString("utf8");
    } finally {
      await file.close();
    }
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined;
    throw error;
  }
}
