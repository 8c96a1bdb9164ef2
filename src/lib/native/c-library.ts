/**
 * Functions of the C library, called through Node's experimental module `node:ffi`. Node warns of it once;
 * the launcher switches that warning off.
 */

/** `uint64` is a bigint, `int32` a number. */
interface Signature {
  readonly arguments: readonly ("uint64" | "int32")[];
  readonly return: "int32";
}

type CFunction = (...args: readonly (bigint | number)[]) => number;

/** The part of `node:ffi` that is used. */
interface NativeLibraries {
  dlopen(
    file: string,
    functions: Readonly<Record<string, Signature>>,
  ): { readonly functions: Readonly<Record<string, CFunction>> };
}

/** Undefined where Node cannot call C functions, or without glibc. */
export function findCFunction(name: string, signature: Signature): CFunction | undefined {
  const libraries = process.getBuiltinModule?.("node:ffi") as NativeLibraries | undefined;
  if (typeof libraries?.dlopen !== "function") return undefined;
  try {
    return libraries.dlopen("libc.so.6", { [name]: signature }).functions[name];
  } catch {
    return undefined;
  }
}
