/**
 * Makes OpenAPI documents from compressed pieces: one for the paths and one for the definitions of each
 * resource, and some for the definitions of built-in types.
 *
 * Promises:
 * 1. Making a document never keeps the event loop busy for longer than one resource or definition takes:
 *    the work is shared with everything else in slices, and compression happens in another thread.
 * 2. Pieces of custom resources, and of built-in ones for /openapi/v2, are kept as long as the resource
 *    is served: a change of one definition makes the pieces of that definition only. The documents of
 *    built-in groups in version 3 never change, and their pieces are not kept.
 */
import type { Descriptions, Json } from "#api/openapi/definition.ts";
import {
  definitionEntries,
  type GroupVersion,
  isOfEveryGroup,
  type OpenApiFragment,
  resourceFragment,
  withGroupVersions,
} from "#api/openapi/documents.ts";
import type { OpenApiResource } from "#api/openapi/resource.ts";
import { nextTurn } from "#lib/async/next-turn.ts";
import type { TimeSlice } from "#lib/async/time-slice.ts";
import { EMPTY_PIECE, type GzipPiece, gzipPiece, joinGzip } from "#lib/gzip/gzip-pieces.ts";
import type { OpenApiForm, Section } from "./openapi-form.ts";
import {
  type DefinitionMarks,
  markOf,
  type RemoteDocument,
  renamedDocument,
} from "./remote-document.ts";

export interface DocumentContents {
  /** What the document says beside its resources. */
  readonly about: OpenApiFragment;
  readonly resources: readonly OpenApiResource[];
  /** Where definitions belong that every group version has. */
  readonly homes: readonly GroupVersion[];
  /** Documents of other servers that become part of this one. */
  readonly remote: readonly RemoteDocument[];
}

/** Definitions are encoded and compressed in pieces of about this size. */
const CHUNK_CHARS = 64 * 1024;
const SHARED_KEPT_MAX = 4;

export class OpenApiPieces {
  readonly #serverVersion: string;
  readonly #descriptions: () => Descriptions;
  readonly #slice: TimeSlice;
  /** By the name of the form. */
  readonly #resources = new WeakMap<OpenApiResource, Map<string, ResourcePieces>>();
  /** By form and roots; the oldest goes first. */
  readonly #shared = new Map<string, SharedDefinitions>();

  constructor(serverVersion: string, descriptions: () => Descriptions, slice: TimeSlice) {
    this.#serverVersion = serverVersion;
    this.#descriptions = descriptions;
    this.#slice = slice;
  }

  /** The whole document, compressed with gzip. */
  async document(form: OpenApiForm, contents: DocumentContents): Promise<Buffer> {
    const { about, resources, homes, remote } = contents;
    const roots = new Set(about.roots);
    const marks = new Map<string, string>();
    const paths = [await this.#encoded(form, "paths", about.paths)];
    const definitions: GzipPiece[] = [];
    for (const resource of resources) {
      await this.#slice.over();
      const pieces = this.#known(form, resource) ?? (await this.#piecesOf(form, resource));
      paths.push(pieces.paths);
      definitions.push(pieces.definitions);
      for (const root of pieces.roots) roots.add(root);
      addAll(marks, pieces.marks);
    }
    const shared = await this.#sharedDefinitions(form, roots, isKept(form, resources));
    definitions.push(...shared.pieces);
    definitions.push(await this.#everyGroup(form, shared, homes));
    addAll(marks, shared.marks);
    for (const other of remote) {
      await this.#slice.over();
      const renamed = renamedDocument(other, marks);
      paths.push(await this.#encoded(form, "paths", renamed.paths));
      definitions.push(await this.#encoded(form, "definitions", renamed.definitions));
    }
    return await this.#framed(form, paths, definitions);
  }

  async #framed(
    form: OpenApiForm,
    paths: readonly GzipPiece[],
    definitions: readonly GzipPiece[],
  ): Promise<Buffer> {
    const hasDefinitions = definitions.some(({ length }) => length > 0);
    const { start, middle, end } = form.frame(this.#serverVersion, hasDefinitions);
    const separator = await gzipPiece(form.separator);
    const pieces = [
      await gzipPiece(start),
      ...separated(paths, separator),
      await gzipPiece(middle),
      ...separated(definitions, separator),
      await gzipPiece(end),
    ];
    await this.#slice.over();
    return joinGzip(pieces);
  }

  #known(form: OpenApiForm, resource: OpenApiResource): ResourcePieces | undefined {
    return this.#resources.get(resource)?.get(form.name);
  }

  async #piecesOf(form: OpenApiForm, resource: OpenApiResource): Promise<ResourcePieces> {
    const { paths, definitions, roots } = resourceFragment(resource, form.dialect);
    await this.#slice.over();
    const pieces = {
      paths: await this.#encoded(form, "paths", paths),
      definitions: await this.#encoded(form, "definitions", definitions),
      marks: marksOf(Object.entries(definitions)),
      roots,
    };
    if (!isKept(form, [resource])) return pieces;
    const known = this.#resources.get(resource) ?? new Map<string, ResourcePieces>();
    this.#resources.set(resource, known.set(form.name, pieces));
    return pieces;
  }

  async #encoded(form: OpenApiForm, section: Section, members: Json): Promise<GzipPiece> {
    if (Object.keys(members).length === 0) return EMPTY_PIECE;
    return await gzipPiece(form.encode(section, members));
  }

  async #sharedDefinitions(
    form: OpenApiForm,
    roots: ReadonlySet<string>,
    isKept: boolean,
  ): Promise<SharedDefinitions> {
    const key = `${form.name} ${[...roots].sort().join(" ")}`;
    const known = this.#shared.get(key);
    if (known !== undefined) return known;
    const made = await this.#describeShared(form, roots);
    if (!isKept) return made;
    this.#shared.set(key, made);
    const [oldest = key] = this.#shared.keys();
    if (this.#shared.size > SHARED_KEPT_MAX) this.#shared.delete(oldest);
    return made;
  }

  async #describeShared(form: OpenApiForm, roots: ReadonlySet<string>): Promise<SharedDefinitions> {
    const pieces: GzipPiece[] = [];
    const marks = new Map<string, string>();
    const everyGroup: [string, Json][] = [];
    let batch: [string, Json][] = [];
    let chars = 0;
    const flush = async (): Promise<void> => {
      const members = Object.fromEntries(batch);
      [batch, chars] = [[], 0];
      pieces.push(await this.#encoded(form, "definitions", members));
    };
    // Unpacking the descriptions takes some milliseconds: a turn of its own.
    await nextTurn();
    const descriptions = this.#descriptions();
    await nextTurn();
    for (const [name, value] of definitionEntries(roots, form.dialect, descriptions)) {
      const text = JSON.stringify(value);
      marks.set(name, markOf(text));
      chars += text.length;
      (isOfEveryGroup(name) ? everyGroup : batch).push([name, value]);
      await this.#slice.over();
      if (chars >= CHUNK_CHARS) await flush();
    }
    await flush();
    return { pieces, marks, everyGroup };
  }

  async #everyGroup(
    form: OpenApiForm,
    { everyGroup }: SharedDefinitions,
    homes: readonly GroupVersion[],
  ): Promise<GzipPiece> {
    const members = everyGroup.map(([name, value]) => [
      name,
      withGroupVersions(name, value, homes),
    ]);
    return await this.#encoded(form, "definitions", Object.fromEntries(members) as Json);
  }
}

interface ResourcePieces {
  readonly paths: GzipPiece;
  readonly definitions: GzipPiece;
  readonly marks: DefinitionMarks;
  readonly roots: readonly string[];
}

interface SharedDefinitions {
  readonly pieces: readonly GzipPiece[];
  readonly marks: DefinitionMarks;
  /** Definitions that depend on the groups of the document. */
  readonly everyGroup: readonly (readonly [string, Json])[];
}

function isKept({ dialect }: OpenApiForm, resources: readonly OpenApiResource[]): boolean {
  return dialect === "v2" || resources.some(({ custom }) => custom !== undefined);
}

function* separated(pieces: readonly GzipPiece[], separator: GzipPiece): Iterable<GzipPiece> {
  let isFirst = true;
  for (const piece of pieces) {
    if (piece.length === 0) continue;
    if (!isFirst) yield separator;
    yield piece;
    isFirst = false;
  }
}

function marksOf(definitions: readonly (readonly [string, unknown])[]): DefinitionMarks {
  return new Map(definitions.map(([name, value]) => [name, markOf(JSON.stringify(value))]));
}

function addAll(marks: Map<string, string>, more: DefinitionMarks): void {
  for (const [name, mark] of more) marks.set(name, mark);
}
