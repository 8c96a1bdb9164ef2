/** Paths to a field of a custom resource, `.spec.color` or `.spec['a.b']`, held against its schema. */
import type { JSONSchemaProps } from "#api/generated/apiextensions.v1.ts";
import { additionalSchema } from "./walk.ts";

export type ResolvedPath =
  | {
      readonly ok: true;
      /** The names on the way. */
      readonly steps: readonly string[];
      readonly schema: JSONSchemaProps | undefined;
    }
  | { readonly ok: false; readonly fault: string };

export function resolveFieldPath(
  text: string,
  root: JSONSchemaProps,
  allowBrackets: boolean,
): ResolvedPath {
  const steps: string[] = [];
  let schema: JSONSchemaProps | undefined = root;
  const tokens = tokensOf(text);
  for (let i = 0; i < tokens.length; i++) {
    const token = tokens[i]!;
    let name: string;
    if (token === ".") {
      i++;
      const next = tokens[i];
      if (next === undefined) return END;
      name = next;
    } else if (token === "[") {
      if (!allowBrackets) return fault("array notation is not allowed");
      const quoted = tokens[++i];
      if (quoted === undefined) return END;
      if (!/^'.*'$/s.test(quoted) || quoted.length < 2) {
        return fault(`expected single quoted string but got ${quoted}`);
      }
      name = quoted.slice(1, -1).replace(/\\(['\\])/g, "$1");
      const close = tokens[++i];
      if (close === undefined) return END;
      if (close !== "]") return fault(`expected ] but got ${close}`);
    } else {
      return fault(`expected [ or . but got: ${token}`);
    }
    const child = childOf(schema, name);
    if (child === "none") return fault("does not refer to a valid field");
    schema = child;
    steps.push(name);
  }
  return { ok: true, steps, schema };
}

const END: ResolvedPath = { ok: false, fault: "unexpected end of JSON path" };

function fault(text: string): ResolvedPath {
  return { ok: false, fault: text };
}

/** Dots and brackets are tokens of their own; quoted text may hold any of them. */
function tokensOf(text: string): string[] {
  return text.match(/[.[\]]|'(?:[^'\\]|\\.)*'|[^.[\]]+/gs) ?? [];
}

function childOf(
  schema: JSONSchemaProps | undefined,
  name: string,
): JSONSchemaProps | undefined | "none" {
  if (schema?.properties !== undefined) return schema.properties[name] ?? "none";
  if (schema?.additionalProperties === undefined) return "none";
  return additionalSchema(schema);
}
