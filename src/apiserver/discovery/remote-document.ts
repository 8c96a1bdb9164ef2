/**
 * The OpenAPI document (version 2) of an aggregated server as a part of this server's. A definition whose
 * name is taken by another definition gets a new name (`_v2`, `_v3`, …).
 */
import { crc32 } from "node:zlib";
import type { Json } from "#api/openapi/definition.ts";

export interface RemoteDocument {
  readonly paths: Json;
  readonly definitions: Json;
}

/** By the names of definitions: what tells different definitions apart. */
export type DefinitionMarks = ReadonlyMap<string, string>;

export function markOf(definition: string): string {
  return `${crc32(definition)} ${definition.length}`;
}

/** `taken`: the definitions that there are already; those of the document are added. */
export function renamedDocument(
  { paths, definitions }: RemoteDocument,
  taken: Map<string, string>,
): RemoteDocument {
  const renamed = new Map<string, string>();
  const added: Record<string, unknown> = {};
  for (const [name, definition] of Object.entries(definitions)) {
    const mark = markOf(JSON.stringify(definition));
    const free = freeName(taken, name, mark);
    if (free !== name) renamed.set(name, free);
    if (taken.has(free)) continue;
    taken.set(free, mark);
    added[free] = definition;
  }
  return { paths: withReferences(paths, renamed), definitions: withReferences(added, renamed) };
}

/** The name itself if it is free or means the same. */
function freeName(taken: DefinitionMarks, name: string, mark: string): string {
  for (let count = 1; ; count++) {
    const tried = count === 1 ? name : `${name}_v${count}`;
    const there = taken.get(tried);
    if (there === undefined || there === mark) return tried;
  }
}

const REFERENCE = /"\$ref":"#\/definitions\/([^"]+)"/g;

function withReferences(members: Json, renamed: ReadonlyMap<string, string>): Json {
  if (renamed.size === 0) return members;
  const text = JSON.stringify(members).replace(REFERENCE, (all, name: string) => {
    const next = renamed.get(name);
    return next === undefined ? all : `"$ref":"#/definitions/${next}"`;
  });
  return JSON.parse(text) as Json;
}
