/**
 * Gathers the parts of an OpenAPI v2 document: paths and definitions by name, each as JSON text. The
 * document of an aggregated server is added with its definitions; one whose name is taken by another
 * definition gets a new name (`_v2`, `_v3`, …).
 */
import type { Json } from "#api/openapi/definition.ts";
import type { OpenApiFragment } from "#api/openapi/documents.ts";
import type { RemoteDocument } from "./openapi.ts";

export class V2Builder {
  readonly paths = new Entries();
  readonly definitions = new Entries();
  /** Names of definitions that are still to be described. */
  readonly roots = new Set<string>();

  addFragment({ paths, definitions, roots }: OpenApiFragment): void {
    this.paths.addAll(paths);
    this.definitions.addAll(definitions);
    for (const root of roots) this.roots.add(root);
  }

  addTexts({ paths, definitions, roots }: FragmentTexts): void {
    for (const [name, text] of Object.entries(paths)) this.paths.set(name, text);
    for (const [name, text] of Object.entries(definitions)) this.definitions.set(name, text);
    for (const root of roots) this.roots.add(root);
  }

  addRemote({ paths, definitions }: RemoteDocument): void {
    const renamed = new Map<string, string>();
    for (const [name, definition] of Object.entries(definitions)) {
      const text = JSON.stringify(definition);
      const free = this.definitions.freeName(name, text);
      if (free !== name) renamed.set(name, free);
    }
    const moved = (value: unknown): string => withReferences(JSON.stringify(value), renamed);
    for (const [name, definition] of Object.entries(definitions)) {
      this.definitions.set(renamed.get(name) ?? name, moved(definition));
    }
    for (const [path, item] of Object.entries(paths)) {
      if (!this.paths.has(path)) this.paths.set(path, moved(item));
    }
  }
}

/** JSON texts by name. */
export class Entries {
  readonly #texts = new Map<string, string>();

  get isEmpty(): boolean {
    return this.#texts.size === 0;
  }

  set(name: string, text: string): void {
    this.#texts.set(name, text);
  }

  has(name: string): boolean {
    return this.#texts.has(name);
  }

  addAll(members: Json): void {
    for (const [name, value] of Object.entries(members)) this.set(name, JSON.stringify(value));
  }

  /** The name itself if it is free or means the same. */
  freeName(name: string, text: string): string {
    for (let count = 1; ; count++) {
      const tried = count === 1 ? name : `${name}_v${count}`;
      const there = this.#texts.get(tried);
      if (there === undefined || there === text) return tried;
    }
  }

  *entries(): Iterable<[string, string]> {
    const names = [...this.#texts.keys()].sort();
    for (const name of names) yield [name, this.#texts.get(name)!];
  }

  /** Members of a JSON object, in the order of their names, with commas between them. */
  *members(): Iterable<string> {
    let comma = "";
    for (const [name, text] of this.entries()) {
      yield `${comma}${JSON.stringify(name)}:${text}`;
      comma = ",";
    }
  }
}

const REFERENCE = /"\$ref":"#\/definitions\/([^"]+)"/g;

function withReferences(text: string, renamed: ReadonlyMap<string, string>): string {
  if (renamed.size === 0) return text;
  return text.replace(REFERENCE, (all, name: string) => {
    const next = renamed.get(name);
    return next === undefined ? all : `"$ref":"#/definitions/${next}"`;
  });
}

/** A fragment with its members as JSON texts. */
export interface FragmentTexts {
  readonly paths: Readonly<Record<string, string>>;
  readonly definitions: Readonly<Record<string, string>>;
  readonly roots: readonly string[];
}

export function fragmentTexts({ paths, definitions, roots }: OpenApiFragment): FragmentTexts {
  return { paths: textsOf(paths), definitions: textsOf(definitions), roots };
}

function textsOf(members: Json): Record<string, string> {
  const texts = Object.entries(members).map(([name, value]) => [name, JSON.stringify(value)]);
  return Object.fromEntries(texts) as Record<string, string>;
}
