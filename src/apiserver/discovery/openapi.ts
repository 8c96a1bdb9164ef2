/**
 * The OpenAPI documents that the server serves: of its own resources and of those of aggregated servers.
 *
 * Promises:
 * 1. Documents are made when they are first asked for, and again after a change, from compressed pieces
 *    (openapi-pieces.ts). They are kept compressed, as nearly every client takes them.
 * 2. A document's hash is that of what it is made from, so that telling the hashes of all documents
 *    does not need the documents.
 */
import { createHash } from "node:crypto";
import { promisify } from "node:util";
import { gunzip } from "node:zlib";
import type { Descriptions } from "#api/openapi/definition.ts";
import {
  groupVersionsOf,
  homesV3,
  openApiV3Paths,
  pathFragmentV3,
  serverFragment,
} from "#api/openapi/documents.ts";
import type { OpenApiResource } from "#api/openapi/resource.ts";
import { nextTurn } from "#lib/async/next-turn.ts";
import { TimeSlice } from "#lib/async/time-slice.ts";
import { unpackedLength } from "#lib/gzip/gzip-pieces.ts";
import type { Clock } from "#lib/time/clock.ts";
import type { KindRegistry } from "../registry/kind-registry.ts";
import type { ServedResource } from "../storage/resources.ts";
import { OPENAPI_FORMS, type OpenApiForm } from "./openapi-form.ts";
import { type DocumentContents, OpenApiPieces } from "./openapi-pieces.ts";
import { openApiResource } from "./openapi-resource.ts";
import type { RemoteDocument } from "./remote-document.ts";

export interface Document {
  readonly hash: string;
  readonly gzipped: Buffer;
}

/** What aggregated servers contribute to /openapi/v2. */
export interface RemoteDefinitions {
  /** Changes with every change of a document. */
  readonly state: string;
  documents(): readonly RemoteDocument[];
}

const unzip = promisify(gunzip);
/** Documents are made beside writes, which take up to a slice of their own in the same turn. */
const SLICE_MS = 4;

export class OpenApi {
  readonly #registry: KindRegistry;
  readonly #serverVersion: string;
  readonly #remote: RemoteDefinitions | undefined;
  readonly #slice: TimeSlice;
  readonly #pieces: OpenApiPieces;
  readonly #made = new Map<string, Made>();
  /** Under way, so that requests at the same time share the work. */
  readonly #making = new Map<string, Promise<Document | undefined>>();
  readonly #described = new WeakMap<ServedResource, OpenApiResource>();
  readonly #hashes = new WeakMap<OpenApiResource, string>();
  #known: Known | undefined;

  /** It follows the registry. */
  constructor(
    registry: KindRegistry,
    serverVersion: string,
    descriptions: () => Descriptions,
    clock: Clock,
    remote?: RemoteDefinitions,
  ) {
    this.#registry = registry;
    this.#serverVersion = serverVersion;
    this.#slice = new TimeSlice(clock, SLICE_MS);
    this.#pieces = new OpenApiPieces(serverVersion, descriptions, this.#slice);
    this.#remote = remote;
    registry.onChange(() => {
      this.#known = undefined;
    });
  }

  /** What has a document of its own, as paths: `api/v1`, `apis/apps`, `apis/apps/v1`, `version`. */
  paths(): readonly string[] {
    return this.#now.paths;
  }

  /** The hashes of all documents of version 3. */
  async hashes(): Promise<ReadonlyMap<string, string>> {
    const now = this.#now;
    const hashes = new Map<string, string>();
    for (const path of now.paths) hashes.set(path, await this.#hashIn(now, path));
    return hashes;
  }

  async hashOf(path: string): Promise<string> {
    return await this.#hashIn(this.#now, path);
  }

  v2(): Promise<Document | undefined> {
    return this.#document(OPENAPI_FORMS.v2.json, "");
  }

  /** The same in protobuf, for older clients. */
  v2Protobuf(): Promise<Document | undefined> {
    return this.#document(OPENAPI_FORMS.v2.protobuf, "");
  }

  /** Undefined if nothing is served at the path. */
  v3(path: string): Promise<Document | undefined> {
    return this.#document(OPENAPI_FORMS.v3.json, path);
  }

  /** The same in protobuf. */
  v3Protobuf(path: string): Promise<Document | undefined> {
    return this.#document(OPENAPI_FORMS.v3.protobuf, path);
  }

  async #document(form: OpenApiForm, path: string): Promise<Document | undefined> {
    const id = `${form.name} ${path}`;
    const now = this.#now;
    const hash = await this.#hashIn(now, path);
    const made = this.#made.get(id);
    if (made?.hash === hash) return made;
    const key = `${id} ${hash}`;
    const making = this.#making.get(key) ?? this.#make(now, form, path, hash);
    this.#making.set(key, making);
    try {
      const document = await making;
      if (document !== undefined && this.#now.there.has(path)) {
        this.#made.set(id, { ...document, path });
      }
      return document;
    } finally {
      this.#making.delete(key);
    }
  }

  async #make(
    now: Known,
    form: OpenApiForm,
    path: string,
    hash: string,
  ): Promise<Document | undefined> {
    await this.#slice.over();
    const contents = path === "" ? this.#contentsV2(now) : contentsV3(now, path);
    // The first document loads zlib, which takes some milliseconds: a turn of its own.
    await nextTurn();
    return contents && { hash, gzipped: await this.#pieces.document(form, contents) };
  }

  #contentsV2(now: Known): DocumentContents {
    const { resources } = now;
    return {
      about: serverFragment(resources),
      resources,
      homes: groupVersionsOf(resources),
      remote: this.#remote?.documents() ?? [],
    };
  }

  async #hashIn(now: Known, path: string): Promise<string> {
    const remote = path === "" ? (this.#remote?.state ?? "") : "";
    const id = `${path} ${remote}`;
    const known = now.hashes.get(id);
    if (known !== undefined) return known;
    const hash = createHash("sha512").update(`${this.#serverVersion}\n${id}\n`);
    for (const resource of path === "" ? now.resources : (now.byPath.get(path) ?? [])) {
      hash.update(await this.#resourceHash(resource));
    }
    const text = hash.digest("hex").toUpperCase();
    now.hashes.set(id, text);
    return text;
  }

  async #resourceHash(resource: OpenApiResource): Promise<string> {
    const known = this.#hashes.get(resource);
    if (known !== undefined) return known;
    await this.#slice.over();
    const hash = createHash("sha256").update(JSON.stringify(resource)).digest("hex");
    this.#hashes.set(resource, hash);
    return hash;
  }

  /** What the documents are about until the next change. Documents that did not change are kept. */
  get #now(): Known {
    if (this.#known !== undefined) return this.#known;
    const resources = [...this.#registry.served()].map((served) => this.#resourceOf(served));
    const paths = openApiV3Paths(resources);
    const byPath = new Map<string, OpenApiResource[]>();
    for (const resource of resources) {
      const path = pathOf(resource);
      const others = byPath.get(path);
      if (others === undefined) byPath.set(path, [resource]);
      else others.push(resource);
    }
    const there = new Set(["", ...paths]);
    this.#known = { resources, paths, there, byPath, hashes: new Map() };
    for (const [id, { path }] of this.#made) if (!there.has(path)) this.#made.delete(id);
    return this.#known;
  }

  #resourceOf(served: ServedResource): OpenApiResource {
    const known = this.#described.get(served);
    if (known !== undefined) return known;
    const described = openApiResource(served);
    this.#described.set(served, described);
    return described;
  }
}

function contentsV3({ resources, byPath }: Known, path: string): DocumentContents | undefined {
  const about = pathFragmentV3(resources, path);
  const own = byPath.get(path) ?? [];
  return about && { about, resources: own, homes: homesV3(own), remote: [] };
}

/** Documents that are being unpacked. */
const unpacking = new WeakMap<Buffer, Promise<Buffer>>();

/**
 * Unpacks in another thread; requests at the same time share the result. All of it goes into one buffer:
 * by default zlib fills one of 16 KB after another, each of which costs the event loop a turn, and joins
 * them in the end (30 ms for a document of 30 MB).
 */
export function plainText({ gzipped }: Document): Promise<Buffer> {
  const known = unpacking.get(gzipped);
  if (known !== undefined) return known;
  const chunkSize = Math.max(unpackedLength(gzipped) + 1, CHUNK_SIZE_MIN);
  const unpacked = unzip(gzipped, { chunkSize }).finally(() => unpacking.delete(gzipped));
  unpacking.set(gzipped, unpacked);
  return unpacked;
}

/** The smallest that zlib takes. */
const CHUNK_SIZE_MIN = 64;

interface Made extends Document {
  readonly path: string;
}

interface Known {
  readonly resources: readonly OpenApiResource[];
  readonly paths: readonly string[];
  /** The paths, and "" for /openapi/v2. */
  readonly there: ReadonlySet<string>;
  readonly byPath: ReadonlyMap<string, readonly OpenApiResource[]>;
  readonly hashes: Map<string, string>;
}

function pathOf({ group, version }: OpenApiResource): string {
  return group === "" ? `api/${version}` : `apis/${group}/${version}`;
}
