/**
 * Reads the objects of a folder of manifests: files that end in .yaml, .yml or .json, in the folder and
 * below it, in the order of their names. A file with a mistake is reported, and the others still count.
 */
import { readdir, readFile, stat } from "node:fs/promises";
import { join, relative } from "node:path";
import { loadAll } from "js-yaml";
import type { KubeObject } from "#api/kind.ts";
import { codeOf, messageOf } from "#lib/caught.ts";

const FILES_MAX = 1_000;
const FILE_BYTES_MAX = 4 * 1024 * 1024;

export interface ManifestObject {
  readonly file: string;
  readonly object: KubeObject;
}

export interface Manifests {
  readonly objects: readonly ManifestObject[];
  /** By file: why its objects are not known. */
  readonly faults: ReadonlyMap<string, string>;
}

export async function readManifests(folders: readonly string[]): Promise<Manifests> {
  const objects: ManifestObject[] = [];
  const faults = new Map<string, string>();
  for (const folder of folders) {
    for (const file of await manifestFiles(folder)) {
      try {
        const found = await readObjects(file);
        objects.push(...found.map((object) => ({ file, object })));
      } catch (error) {
        // A file that went away meanwhile is no mistake.
        if (codeOf(error) !== "ENOENT") faults.set(file, messageOf(error));
      }
    }
  }
  return { objects, faults };
}

/** Throws when the text is no list of objects. */
function objectsOf(text: string): readonly KubeObject[] {
  return loadAll(text).flatMap((document) => {
    if (document === null || document === undefined) return [];
    const items = listItems(document);
    return (items ?? [document]).map(checkedObject);
  });
}

async function manifestFiles(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries
    .filter((entry) => !entry.isDirectory() && /^[^.].*\.(ya?ml|json)$/.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name))
    .sort((a, b) => (relative(folder, a) < relative(folder, b) ? -1 : 1));
  if (files.length > FILES_MAX) {
    throw new Error(`${folder} has ${files.length} manifests, more than ${FILES_MAX}`);
  }
  return files;
}

async function readObjects(file: string): Promise<readonly KubeObject[]> {
  const { size } = await stat(file);
  if (size > FILE_BYTES_MAX) throw new Error(`the file has more than ${FILE_BYTES_MAX} bytes`);
  return objectsOf(await readFile(file, "utf8"));
}

function listItems(document: unknown): readonly unknown[] | undefined {
  const { kind, items } = document as { kind?: unknown; items?: unknown };
  return typeof kind === "string" && kind.endsWith("List") && Array.isArray(items)
    ? items
    : undefined;
}

function checkedObject(document: unknown): KubeObject {
  const { apiVersion, kind, metadata } = document as Partial<KubeObject>;
  if (typeof apiVersion !== "string" || typeof kind !== "string") {
    throw new Error("an object without apiVersion or kind");
  }
  if (typeof metadata?.name !== "string" || metadata.name === "") {
    throw new Error(`a ${kind} without metadata.name`);
  }
  return document as KubeObject;
}
