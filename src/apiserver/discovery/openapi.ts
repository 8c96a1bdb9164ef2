/**
 * The OpenAPI documents that the server serves: of its own resources and of those of aggregated servers.
 *
 * Promises:
 * 1. Documents are made when they are first asked for, and again after a change. They are kept
 *    compressed, as nearly every client takes them.
 * 2. Making one never keeps the event loop busy for longer than one resource or definition takes: the
 *    work is shared with everything else in slices, and compression happens in another thread.
 * 3. The part of /openapi/v2 that a custom resource contributes is kept (compressed) until its
 *    definition changes, so that a change of one definition does not make the others again.
 * 4. A document's hash is that of what it is made from, so that telling the hashes of all documents
 *    does not need the documents.
 */
import { createHash } from "node:crypto";
import { pipeline } from "node:stream/promises";
import { promisify } from "node:util";
import { createGzip, gunzip, gzip } from "node:zlib";
import { membersOf } from "#api/members.ts";
import type { Descriptions, Json } from "#api/openapi/definition.ts";
import {
  definitionsV2,
  type OpenApiInput,
  openApiV2Head,
  openApiV2Tail,
  openApiV3,
  openApiV3Document,
  openApiV3Entries,
  openApiV3Paths,
  resourceFragmentV2,
  serverFragmentV2,
} from "#api/openapi/documents.ts";
import type { OpenApiResource } from "#api/openapi/resource.ts";
import { encodeOpenApiV2 } from "#api/openapi/v2-protobuf.ts";
import { encodeOpenApiV3 } from "#api/openapi/v3-protobuf.ts";
import { TimeSlice } from "#lib/async/time-slice.ts";
import type { Clock } from "#lib/time/clock.ts";
import type { KindRegistry } from "../registry/kind-registry.ts";
import type { ServedResource } from "../storage/resources.ts";
import { openApiResource } from "./openapi-resource.ts";
import { Entries, type FragmentTexts, fragmentTexts, V2Builder } from "./v2-builder.ts";

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

export interface RemoteDocument {
  readonly paths: Json;
  readonly definitions: Json;
}

const zip = promisify(gzip);
const unzip = promisify(gunzip);
const LEVEL = { level: 1 };
const CHUNK_BYTES = 256 * 1024;

export class OpenApi {
  readonly #registry: KindRegistry;
  readonly #serverVersion: string;
  readonly #descriptions: () => Descriptions;
  readonly #remote: RemoteDefinitions | undefined;
  readonly #slice: TimeSlice;
  readonly #made = new Map<string, Made>();
  /** Under way, so that requests at the same time share the work. */
  readonly #making = new Map<string, Promise<Document | undefined>>();
  readonly #described = new WeakMap<ServedResource, OpenApiResource>();
  readonly #hashes = new WeakMap<OpenApiResource, string>();
  /** Compressed fragments of /openapi/v2 of custom resources. */
  readonly #fragments = new WeakMap<OpenApiResource, Buffer>();
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
    this.#descriptions = descriptions;
    this.#slice = new TimeSlice(clock);
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
    return this.#document("json", "", async (now) => {
      const { paths, definitions } = await this.#buildV2(now);
      const serverVersion = this.#serverVersion;
      const head = textOf(openApiV2Head({ serverVersion })).slice(0, -1);
      const tail = textOf(openApiV2Tail()).slice(1);
      return (function* () {
        yield `${head},"paths":{`;
        yield* paths.members();
        yield '},"definitions":{';
        yield* definitions.members();
        yield `},${tail}`;
      })();
    });
  }

  /** The same in protobuf, for older clients. */
  v2Protobuf(): Promise<Document | undefined> {
    return this.#document("protobuf", "", async (now) => {
      const builder = await this.#buildV2(now);
      const serverVersion = this.#serverVersion;
      // Parts of a message that stand one after another are one message.
      return (function* () {
        yield encodeOpenApiV2(membersOf(openApiV2Head({ serverVersion })));
        for (const section of ["paths", "definitions"] as const) {
          for (const [name, text] of builder[section].entries()) {
            yield encodeOpenApiV2({ [section]: { [name]: JSON.parse(text) } });
          }
        }
        yield encodeOpenApiV2(membersOf(openApiV2Tail()));
      })();
    });
  }

  /** Undefined if nothing is served at the path. */
  v3(path: string): Promise<Document | undefined> {
    return this.#document("json", path, async (now) => {
      const entries = openApiV3Entries(now.input(), path);
      if (entries === undefined) return undefined;
      const paths = new Entries();
      const schemas = new Entries();
      for (const [section, name, value] of entries) {
        await this.#slice.over();
        (section === "paths" ? paths : schemas).set(name, textOf(value));
      }
      const serverVersion = this.#serverVersion;
      const frame = textOf(openApiV3Document({ serverVersion }, {}, {}));
      const [head = "", tail = ""] = frame.split('"paths":{},"components":{');
      return (function* () {
        yield `${head}"paths":{`;
        yield* paths.members();
        yield '},"components":{';
        if (!schemas.isEmpty) {
          yield '"schemas":{';
          yield* schemas.members();
          yield "},";
        }
        yield tail;
      })();
    });
  }

  /** The same in protobuf. */
  v3Protobuf(path: string): Promise<Document | undefined> {
    return this.#document("protobuf", path, async (now) => {
      const document = openApiV3(now.input(), path);
      return document === undefined ? undefined : [encodeOpenApiV3(membersOf(document))];
    });
  }

  async #document(
    form: string,
    path: string,
    make: (now: Known) => Promise<Iterable<string | Uint8Array> | undefined>,
  ): Promise<Document | undefined> {
    const id = `${form} ${path}`;
    const now = this.#now;
    const hash = await this.#hashIn(now, path);
    const made = this.#made.get(id);
    if (made?.hash === hash) return made;
    const key = `${id} ${hash}`;
    const making = this.#making.get(key) ?? this.#make(now, path, hash, make);
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
    path: string,
    hash: string,
    make: (now: Known) => Promise<Iterable<string | Uint8Array> | undefined>,
  ): Promise<Document | undefined> {
    if (path !== "" && !now.there.has(path)) return undefined;
    await this.#slice.over();
    const document = await make(now);
    return document && { hash, gzipped: await this.#compress(document) };
  }

  /** Compresses in another thread; what it is given is made in slices. */
  async #compress(parts: Iterable<string | Uint8Array>): Promise<Buffer> {
    const slice = this.#slice;
    const chunks = (async function* () {
      let batch: Buffer[] = [];
      let length = 0;
      for (const part of parts) {
        const bytes = Buffer.from(part);
        length += bytes.length;
        batch.push(bytes);
        await slice.over();
        if (length < CHUNK_BYTES) continue;
        yield Buffer.concat(batch);
        batch = [];
        length = 0;
      }
      yield Buffer.concat(batch);
    })();
    const zipped: Buffer[] = [];
    await pipeline(chunks, createGzip(LEVEL), async (source: AsyncIterable<Buffer>) => {
      for await (const chunk of source) zipped.push(chunk);
    });
    return Buffer.concat(zipped);
  }

  async #buildV2(now: Known): Promise<V2Builder> {
    const builder = new V2Builder();
    const input = now.input();
    for (const resource of now.resources) {
      await this.#slice.over();
      if (resource.custom === undefined) builder.addFragment(resourceFragmentV2(resource));
      else builder.addTexts(await this.#customFragment(resource));
    }
    builder.addFragment(serverFragmentV2(now.resources));
    for (const [name, definition] of definitionsV2(builder.roots, input)) {
      await this.#slice.over();
      builder.definitions.set(name, textOf(definition));
    }
    for (const document of this.#remote?.documents() ?? []) builder.addRemote(document);
    return builder;
  }

  async #customFragment(resource: OpenApiResource): Promise<FragmentTexts> {
    const known = this.#fragments.get(resource);
    if (known !== undefined) return JSON.parse((await unzip(known)).toString()) as FragmentTexts;
    const texts = fragmentTexts(resourceFragmentV2(resource));
    this.#fragments.set(resource, await zip(textOf(texts), LEVEL));
    return texts;
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
      byPath.set(path, [...(byPath.get(path) ?? []), resource]);
    }
    const there = new Set(["", ...paths]);
    const serverVersion = this.#serverVersion;
    const input = (): OpenApiInput => ({
      resources,
      descriptions: this.#descriptions(),
      serverVersion,
    });
    this.#known = { resources, paths, there, byPath, hashes: new Map(), input };
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

function textOf(value: object): string {
  return JSON.stringify(value);
}

/** Documents that are being unpacked. */
const unpacking = new WeakMap<Buffer, Promise<Buffer>>();

/** Unpacks in another thread; requests at the same time share the result. */
export function plainText({ gzipped }: Document): Promise<Buffer> {
  const known = unpacking.get(gzipped);
  if (known !== undefined) return known;
  const unpacked = unzip(gzipped).finally(() => unpacking.delete(gzipped));
  unpacking.set(gzipped, unpacked);
  return unpacked;
}

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
  input(): OpenApiInput;
}

function pathOf({ group, version }: OpenApiResource): string {
  return group === "" ? `api/${version}` : `apis/${group}/${version}`;
}
