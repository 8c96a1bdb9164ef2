/**
 * Gives memory back to the system that the C library keeps after it was freed. glibc returns by itself
 * only what lies at the end of its heap, and after a burst of work that is little: buffers that are still
 * in use lie between those that are not.
 */
import { findCFunction } from "./c-library.ts";

/** A function that trims the heap; undefined where Node cannot call C functions, or without glibc. */
export function findTrim(): (() => void) | undefined {
  const trim = findCFunction("malloc_trim", { arguments: ["uint64"], return: "int32" });
  return trim && (() => void trim(0n));
}
