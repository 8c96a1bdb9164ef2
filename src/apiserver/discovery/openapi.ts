/**
 * The OpenAPI documents that the server serves. They are made when first asked for, since most
 * servers are never asked for most of them, and kept compressed, as nearly every client takes them.
 *
 * A document's hash is that of what it is made from, so that telling the hashes of all documents
 * does not need the documents.
 */
import { createHash } from "node:crypto";
import { gunzipSync, gzipSync } from "node:zlib";
import { membersOf } from "#api/members.ts";
import type { Prose } from "#api/openapi/definition.ts";
import { type OpenApiInput, openApiV2, openApiV3, openApiV3Paths } from "#api/openapi/documents.ts";
import type { OpenApiResource } from "#api/openapi/resource.ts";
import { encodeOpenApiV2 } from "#api/openapi/v2-protobuf.ts";
import { encodeOpenApiV3 } from "#api/openapi/v3-protobuf.ts";
import type { SubresourceRoute } from "#api/subresource-route.ts";
import { subresourcesOf } from "../request/subresource-routes.ts";
import type { ServedResource } from "../storage/resources.ts";

export interface Document {
  readonly hash: string;
  readonly gzipped: Buffer;
}

export class OpenApi {
  readonly #resources: readonly OpenApiResource[];
  readonly #serverVersion: string;
  readonly #prose: () => Prose;
  readonly #made = new Map<string, Buffer>();
  #paths: readonly string[] | undefined;

  constructor(served: Iterable<ServedResource>, serverVersion: string, prose: () => Prose) {
    this.#resources = [...served].map(openApiResource);
    this.#serverVersion = serverVersion;
    this.#prose = prose;
  }

  /** What has a document of its own, as paths: `api/v1`, `apis/apps`, `apis/apps/v1`, `version`. */
  paths(): readonly string[] {
    this.#paths ??= openApiV3Paths(this.#resources);
    return this.#paths;
  }

  hashOf(path: string): string {
    const own = path === "" ? this.#resources : this.#resources.filter((r) => pathOf(r) === path);
    const source = JSON.stringify([this.#serverVersion, path, own]);
    return createHash("sha512").update(source).digest("hex").toUpperCase();
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
    let gzipped = this.#made.get(id);
    if (gzipped === undefined) {
      const document = make();
      if (document === undefined) return undefined;
      gzipped = gzipSync(document, { level: 1 });
      this.#made.set(id, gzipped);
    }
    return { hash: this.hashOf(path), gzipped };
  }

  #input(): OpenApiInput {
    const serverVersion = this.#serverVersion;
    return { resources: this.#resources, prose: this.#prose(), serverVersion };
  }
}

function jsonOf(document: object): Buffer {
  return Buffer.from(JSON.stringify(document));
}

export function plainText({ gzipped }: Document): Buffer {
  return gunzipSync(gzipped);
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
    deleteAnswersObject: deletion?.returnsObject === true && !deletion.documentedAsStatus,
    subresources: subresourcesOf(served).map((route) => ({
      name: route.name,
      verbs: route.verbs,
      ...spokenKind(route),
    })),
  };
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
