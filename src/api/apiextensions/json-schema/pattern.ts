/** Regular expressions of schemas: RE2's, which take linear time whatever their authors wrote. */
import { RE2JS } from "re2js";

export type CompiledPattern =
  | { readonly ok: true; test(text: string): boolean }
  | { readonly ok: false; readonly fault: string };

export function compilePattern(pattern: string): CompiledPattern {
  try {
    const compiled = RE2JS.compile(pattern);
    return { ok: true, test: (text) => compiled.test(text) };
  } catch (error) {
    return { ok: false, fault: error instanceof Error ? error.message : String(error) };
  }
}
