/**
 * Gives back the pages of the program file (Node itself) that are mapped into this process. Two thirds of
 * them are touched by its start alone: V8's snapshot, the compilers, the set-up of modules. Pages that are
 * needed again come back from the page cache, 16 at a time.
 *
 * Only pages that are as they are in the file are given back: what the loader or a debugger wrote into a
 * private mapping would be lost.
 */
import { readFile } from "node:fs/promises";
import { findCFunction } from "./c-library.ts";

const MADV_DONTNEED = 4;

export interface Mapping {
  readonly start: bigint;
  readonly end: bigint;
}

/** Resolves without an effect where that is not possible: without Linux, glibc or `node:ffi`. */
export async function releaseProgramPages(): Promise<void> {
  const madvise = findCFunction("madvise", {
    arguments: ["uint64", "uint64", "int32"],
    return: "int32",
  });
  if (madvise === undefined) return;
  const smaps = await readFile("/proc/self/smaps", "utf8").catch(() => undefined);
  if (smaps === undefined) return;
  for (const { start, end } of unchangedMappings(smaps, process.execPath)) {
    madvise(start, end - start, MADV_DONTNEED);
  }
}

/** The mappings of `file` that cannot be written and have no page that differs from the file. */
export function unchangedMappings(smaps: string, file: string): Mapping[] {
  return smaps.split(/^(?=[0-9a-f]+-[0-9a-f]+ )/m).flatMap((entry) => {
    const found = /^([0-9a-f]+)-([0-9a-f]+) (\S+) \S+ \S+ \S+ +(.*)$/m.exec(entry);
    if (found === null) return [];
    const [, start, end, access = "", path] = found;
    const isUnchanged =
      kilobytes(entry, "Private_Dirty") === 0 && kilobytes(entry, "Anonymous") === 0;
    if (path !== file || access.includes("w") || !isUnchanged) return [];
    return [{ start: BigInt(`0x${start}`), end: BigInt(`0x${end}`) }];
  });
}

/** Undefined where the kernel does not say: then nothing is known to be unchanged. */
function kilobytes(entry: string, field: string): number | undefined {
  const value = new RegExp(`^${field}:\\s+(\\d+) kB$`, "m").exec(entry)?.[1];
  return value === undefined ? undefined : Number(value);
}
