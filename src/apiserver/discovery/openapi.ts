/**
 * The OpenAPI documents that the server serves. They are made when first asked for, since most
 * servers are never asked for most of them, and kept compressed, as nearly every client takes them.
 *
 * A document's hash is that of what it is made from, so that telling the hashes of all documents
 * does not need the documents.
 */
import { createHash } from "node:crypto";
import { gunzipSync, gzipSync } from "node:zlib";
import type { CustomKind } from "#api/kind.ts";
import { membersOf } from "#api/members.ts";
import type { Prose } from "#api/openapi/definition.ts";
import { type OpenApiInput, openApiV2, openApiV3, openApiV3Paths } from "#api/openapi/documents.ts";
import type { OpenApiResource } from "#api/openapi/resource.ts";
import { encodeOpenApiV2 } from "#api/openapi/v2-protobuf.ts";
import { encodeOpenApiV3 } from "#api/openapi/v3-protobuf.ts";
import type { SubresourceRoute } from "#api/subresource-route.ts";
import type { KindRegistry } from "../registry/kind-registry.ts";
import { subresourcesOf } from "../request/subresource-routes.ts";
import type { ServedResource } from "../storage/resources.ts";

export interface Document {
  readonly hash: string;
  readonly gzipped: Buffer;
}

export class OpenApi {
  readonly #registry: KindRegistry;
  readonly #serverVersion: string;
  readonly #prose: () => Prose;
  readonly #made = new Map<string, Made>();
  readonly #described = new WeakMap<ServedResource, OpenApiResource>();
  #known: Known | undefined;

  /** It follows the registry. */
  constructor(registry: KindRegistry, serverVersion: string, prose: () => Prose) {
    this.#registry = registry;
    this.#serverVersion = serverVersion;
    this.#prose = prose;
    registry.onChange(() => {
      this.#known = undefined;
    });
  }

  /** What has a document of its own, as paths: `api/v1`, `apis/apps`, `apis/apps/v1`, `version`. */
  paths(): readonly string[] {
    return this.#now.paths;
  }

  hashOf(path: string): string {
    const { resources, hashes } = this.#now;
    const known = hashes.get(path);
    if (known !== undefined) return known;
    const own = path === "" ? resources : resources.filter((r) => pathOf(r) === path);
    const source = JSON.stringify([this.#serverVersion, path, own]);
    const hash = createHash("sha512").update(source).digest("hex").toUpperCase();
    hashes.set(path, hash);
    return hash;
  }

  v2(): Document {
    return this.#document("json", "", () => jsonOf(openApiV2(this.#input())))!;
  }

  /** The same in protobuf, for older clients. */
  v2Protobuf(): Document {
    return this.#document("protobuf", "", () =>
      Buffer.from(encodeOpenApiV2(membersOf(openApiV2(this.#input())))),
    )!;
  }

  /** Undefined if nothing is served at the path. */
  v3(path: string): Document | undefined {
    return this.#document("json", path, () => {
      const document = openApiV3(this.#input(), path);
      return document === undefined ? undefined : jsonOf(document);
    });
  }

  /** The same in protobuf. */
  v3Protobuf(path: string): Document | undefined {
    return this.#document("protobuf", path, () => {
      const document = openApiV3(this.#input(), path);
      return document === undefined ? undefined : Buffer.from(encodeOpenApiV3(membersOf(document)));
    });
  }

  #document(form: string, path: string, make: () => Buffer | undefined): Document | undefined {
    const id = `${form} ${path}`;
    const hash = this.hashOf(path);
    const made = this.#made.get(id);
    if (made?.hash === hash) return made;
    const document = make();
    if (document === undefined) return undefined;
    const fresh = { hash, path, gzipped: gzipSync(document, { level: 1 }) };
    this.#made.set(id, fresh);
    return fresh;
  }

  /** What the documents are about until the next change. Documents that did not change are kept. */
  get #now(): Known {
    if (this.#known !== undefined) return this.#known;
    const resources = [...this.#registry.served()].map((served) => this.#resourceOf(served));
    const paths = openApiV3Paths(resources);
    this.#known = { resources, paths, hashes: new Map() };
    const there = new Set(["", ...paths]);
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

  #input(): OpenApiInput {
    const serverVersion = this.#serverVersion;
    return { resources: this.#now.resources, prose: this.#prose(), serverVersion };
  }
}

function jsonOf(document: object): Buffer {
  return Buffer.from(JSON.stringify(document));
}

export function plainText({ gzipped }: Document): Buffer {
  return gunzipSync(gzipped);
}

interface Made extends Document {
  readonly path: string;
}

interface Known {
  readonly resources: readonly OpenApiResource[];
  readonly paths: readonly string[];
  readonly hashes: Map<string, string>;
}

function pathOf({ group, version }: OpenApiResource): string {
  return group === "" ? `api/${version}` : `apis/${group}/${version}`;
}

function openApiResource(served: ServedResource): OpenApiResource {
  const { kind, stored } = served;
  const { deletion } = stored.kind;
  return {
    group: kind.group,
    version: kind.version,
    plural: kind.names.plural,
    kind: kind.names.kind,
    namespaced: kind.scope === "Namespaced",
    verbs: kind.verbs,
    definition: kind.schema().name,
    ...(kind.custom === undefined
      ? {}
      : { custom: customDefinition(kind.custom, kind.names.list) }),
    deleteAnswersObject: deletion?.returnsObject === true && !deletion.documentedAsStatus,
    subresources: subresourcesOf(served).map((route) => ({
      name: route.name,
      verbs: route.verbs,
      ...spokenKind(route),
    })),
  };
}

function customDefinition(
  custom: CustomKind,
  listKind: string,
): NonNullable<OpenApiResource["custom"]> {
  return { v2: custom.publishedSchema("v2"), v3: custom.publishedSchema("v3"), listKind };
}

/** What a subresource takes that is no object of the resource itself. */
function spokenKind({ kind, options, schema }: SubresourceRoute) {
  if (options !== undefined) return { options };
  if (schema === undefined) return {};
  const { group, version } = kind;
  const speaks = {
    group,
    version: version || "v1",
    kind: kind.kind,
    definition: schema().name,
  };
  return { speaks };
}
