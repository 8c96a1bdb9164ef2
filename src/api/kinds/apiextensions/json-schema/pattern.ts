/** Regular expressions of schemas: RE2's, which take linear time whatever their authors wrote. */
import { RE2JS } from "re2js";
import type { JSONSchemaProps } from "#api/generated/apiextensions.v1.ts";
import { messageOf } from "#lib/caught.ts";

export type CompiledPattern =
  | { readonly ok: true; test(text: string): boolean }
  | { readonly ok: false; readonly fault: string };

export function compilePattern(pattern: string): CompiledPattern {
  try {
    const compiled = RE2JS.compile(pattern);
    return { ok: true, test: (text) => compiled.test(text) };
  } catch (error) {
    return { ok: false, fault: messageOf(error) };
  }
}

// Keyed by the schema, which values of a kind share: compiling costs far more than matching.
const known = new WeakMap<JSONSchemaProps, CompiledPattern>();

/** The pattern of a schema, compiled at its first use. */
export function patternOf(schema: JSONSchemaProps): CompiledPattern {
  const compiled = known.get(schema) ?? compilePattern(schema.pattern ?? "");
  known.set(schema, compiled);
  return compiled;
}
