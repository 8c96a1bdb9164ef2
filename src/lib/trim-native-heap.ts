/**
 * Gives memory back to the system that the C library keeps after it was freed. glibc returns by itself
 * only what lies at the end of its heap, and after a burst of work that is little: buffers that are still
 * in use lie between those that are not.
 */

/** The part of Node's experimental module `node:ffi` that is used. */
interface NativeLibraries {
  dlopen(
    file: string,
    functions: { malloc_trim: { arguments: readonly string[]; return: string } },
  ): { readonly functions: { malloc_trim(paddingBytes: bigint): number } };
}

const SIGNATURE = { arguments: ["uint64"], return: "int32" };

/** A function that trims the heap; undefined where Node cannot call C functions, or without glibc. */
export function findTrim(): (() => void) | undefined {
  const libraries = process.getBuiltinModule?.("node:ffi") as NativeLibraries | undefined;
  if (typeof libraries?.dlopen !== "function") return undefined;
  try {
    const { functions } = libraries.dlopen("libc.so.6", { malloc_trim: SIGNATURE });
    return () => void functions.malloc_trim(0n);
  } catch {
    return undefined;
  }
}
