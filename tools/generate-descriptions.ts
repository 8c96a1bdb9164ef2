/**
 * Writes src/api/generated/descriptions.gz: what every type and field is for, in the words of
 * the API's own documentation, which two packages carry in their declarations: kubernetes-models
 * (fields of object type have their own text there) and the client library (the other fields of
 * the versions that the first one lacks). The file is made when the project is built and is not
 * committed; `kubectl explain` shows its contents.
 */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { type DescriptionTable, descriptionLines } from "#api/openapi/descriptions.ts";
import { schemaOf } from "#api/schema/from-facts.ts";
import type { StructSchema } from "#api/schema/schema.ts";
import { MODELS_FOLDER, modelsOfTypes } from "./client-models.ts";
import { readInterfaceDescriptions } from "./interface-descriptions.ts";

export const DESCRIPTIONS_FILE = fileURLToPath(
  new URL("../src/api/generated/descriptions.gz", import.meta.url),
);

export function readDescriptions(): DescriptionTable {
  const all = readFileSync(join(MODELS_FOLDER, "all.js"), "utf8");
  const exported = new Set([...all.matchAll(/models\/(\w+)\.js'/g)].map(([, name]) => name!));
  const descriptions: Record<string, DescriptionTable[string]> = {};
  for (const [type, model] of modelsOfTypes(exported)) {
    const declaration = readFileSync(join(MODELS_FOLDER, `${model}.d.ts`), "utf8");
    const schema = schemaOf(type);
    descriptions[schema.name] = describedIn(declaration, model, schema);
  }
  const interfaceOf = readInterfaceDescriptions();
  return Object.fromEntries(
    Object.entries(descriptions).map(([name, own]) => {
      const sources = [interfaceOf(name), own, interfaceOf(stableVersionOf(name))];
      return [name, merged(sources.filter((source) => source !== undefined))];
    }),
  );
}

/** The first source that says something about the type or a field counts. */
function merged(sources: readonly DescriptionTable[string][]): DescriptionTable[string] {
  const fields: Record<string, string> = {};
  for (const source of sources) {
    for (const [field, text] of Object.entries(source.fields)) fields[field] ||= text;
  }
  return { type: sources.find(({ type }) => type !== "")?.type ?? "", fields };
}

/** A field of object type in an alpha or beta version is described as in the stable version. */
function stableVersionOf(definition: string): string {
  return definition.replace(/\.(v\d+)(?:alpha|beta)\d+\./, ".$1.");
}

export function writeDescriptions(): void {
  mkdirSync(dirname(DESCRIPTIONS_FILE), { recursive: true });
  writeFileSync(DESCRIPTIONS_FILE, gzipSync(descriptionLines(readDescriptions())));
}

/** A comment, and the class or field below it. */
const DESCRIBED = /\/\*\*\n([\s\S]*?)\*\/\n *(?:export declare class (\w+)|'([^']+)'\??:)/g;

/** What stands above a class that has no comment of its own. */
const FILE_HEADER = "Kubernetes\nNo description provided";

function describedIn(
  declaration: string,
  model: string,
  schema: StructSchema,
): DescriptionTable[string] {
  const names = new Map(schema.fields.map(({ name }) => [spelled(name), name]));
  let type = "";
  const fields: Record<string, string> = {};
  for (const [, comment = "", className, field] of declaration.matchAll(DESCRIBED)) {
    const text = textOf(comment);
    if (className === model) type = text.startsWith(FILE_HEADER) ? "" : text;
    else if (field !== undefined) fields[names.get(field.replace(/^_/, "")) ?? field] = text;
  }
  return { type, fields };
}

/** The class's own comment follows another one: only what is behind its start counts. */
function textOf(comment: string): string {
  const own = comment.slice(comment.lastIndexOf("/**") + 1);
  return own
    .split("\n")
    .map((line) => line.replace(/^\s*\*+ ?/, ""))
    .join("\n")
    .replace(/\\(['"])/g, "$1")
    .replace(/\/_\*/g, "/*")
    .replace(/\*_\//g, "*/")
    .replace(PARAGRAPH, "\n\n")
    .trim();
}

/** The library writes the empty line between paragraphs as two spaces. */
const PARAGRAPH = /(?<=[.:)`"\w]) {2}(?=[A-Z`"(\-*])/g;

/** As the library spells a field: no dollar, no hyphen; a reserved word has an underscore before it. */
function spelled(name: string): string {
  return name.replace(/^\$/, "").replaceAll("-", "_");
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  writeDescriptions();
  process.stdout.write(`descriptions: ${DESCRIPTIONS_FILE}\n`);
}
