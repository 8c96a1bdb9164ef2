/**
 * What the declarations of the package kubernetes-models say about types and fields, by the name
 * of the definition. Unlike the client library's models, a field of object type has its own text
 * there, and paragraphs are kept.
 */
import { readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import type { DescriptionTable } from "#api/openapi/descriptions.ts";

type Described = DescriptionTable[string];

/** The returned function gives what is known about a definition, such as io.k8s.api.core.v1.Pod. */
export function readInterfaceDescriptions(): (definition: string) => Described | undefined {
  const found = new Map<string, Described>();
  for (const file of PACKAGES.flatMap(declarationFiles)) {
    const text = readFileSync(file, "utf8");
    const alias = EXPORTED_AS.exec(text)?.[1];
    if (alias !== undefined) found.set(alias, describedIn(text));
  }
  return (definition) => found.get(aliasOf(definition));
}

const MODELS = createRequire(import.meta.url).resolve("kubernetes-models/package.json");
const PACKAGES: readonly string[] = [
  dirname(MODELS),
  dirname(createRequire(MODELS).resolve("@kubernetes-models/apimachinery/package.json")),
];

/** `_schemas` has the same definitions without comments. */
function declarationFiles(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(".d.ts") && !path.startsWith("_schemas"))
    .map((path) => join(folder, path));
}

/** The name of the definition stands in an export at the end of the file. */
const EXPORTED_AS = /^export type \{ \w+ as I(\w+)/m;

/** io.k8s.api.core.v1.Pod is exported as IoK8sApiCoreV1Pod. */
function aliasOf(definition: string): string {
  return definition.replace(/(?:^|[.-])(\w)/g, (_, first: string) => first.toUpperCase());
}

/** Matches the interface with its comment; the class below repeats the fields without comments. */
const INTERFACE = /(?:\/\*\*\n((?: \*.*\n)*?) \*\/\n)?export interface \w+[^{]*\{\n([\s\S]*?)^\}/m;
const FIELD = /^ {4}\/\*\*\n((?: {5}\*.*\n)*?) {5}\*\/\n {4}"([^"]+)"\??:/gm;

function describedIn(declaration: string): Described {
  const [, comment = "", body = ""] = INTERFACE.exec(declaration) ?? [];
  const fields = [...body.matchAll(FIELD)].map(([, text = "", name = ""]) => [name, textOf(text)]);
  return { type: textOf(comment), fields: Object.fromEntries(fields) };
}

function textOf(comment: string): string {
  return comment
    .split("\n")
    .map((line) => line.replace(/^ *\* ?/, ""))
    .join("\n")
    .replace(/\\([*/])/g, "$1")
    .trim();
}
