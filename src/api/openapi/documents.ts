/**
 * The OpenAPI documents of a server: version 2 in one piece, version 3 one for each group version.
 * Pure functions of the served resources and the fact tables; nothing is kept.
 */
import { findSchemaByDefinition, groupVersionOfDefinition } from "#api/schema/from-facts.ts";
import type { StructSchema } from "#api/schema/schema.ts";
import {
  type Dialect,
  describeStruct,
  describeValue,
  type Json,
  mentionedDefinitions,
  type Prose,
} from "./definition.ts";
import { capital, groupVersionTag, groupVersionWord, groupWords, rootPath } from "./names.ts";
import { OBJECT_MEDIA, type Operation, type PathItem } from "./operation.ts";
import { pathItems } from "./operations.ts";
import { renderPaths, sorted } from "./paths.ts";
import type { OpenApiResource } from "./resource.ts";

export interface OpenApiInput {
  readonly resources: readonly OpenApiResource[];
  readonly prose: Prose;
  /** As `/version` tells it: v1.36.4 */
  readonly serverVersion: string;
  /** Definitions beside the built-in ones, by name: those of custom resources. */
  readonly moreDefinitions?: Readonly<Record<string, Json>>;
}

/** The document at /openapi/v2. */
export function openApiV2(input: OpenApiInput): Json {
  const { resources, serverVersion } = input;
  const items = [...resources.flatMap(pathItems), ...discoveryItems(resources)];
  return {
    swagger: "2.0",
    info: { title: "Kubernetes", version: serverVersion },
    paths: renderPaths(items, "v2"),
    definitions: definitionsOf(items, "v2", input),
    securityDefinitions: { BearerToken: { ...BEARER_TOKEN } },
    security: [{ BearerToken: [] }],
  };
}

/** The document at /openapi/v3/{apis/GROUP/VERSION, api/v1}; undefined if nothing is served there. */
export function openApiV3(input: OpenApiInput, group: string, version: string): Json | undefined {
  const { resources, serverVersion } = input;
  const own = resources.filter((r) => r.group === group && r.version === version);
  if (own.length === 0) return undefined;
  const all = [...own.flatMap(pathItems), apiResourcesItem(group, version)];
  return {
    openapi: "3.0.0",
    info: { title: "Kubernetes", version: serverVersion },
    paths: renderPaths(all, "v3"),
    components: {
      schemas: definitionsOf(all, "v3", input),
      securitySchemes: { BearerToken: { ...BEARER_TOKEN } },
    },
  };
}

const META = "io.k8s.apimachinery.pkg.apis.meta.v1";

const BEARER_TOKEN = {
  type: "apiKey",
  description: "Bearer Token authentication",
  name: "authorization",
  in: "header",
};

interface GroupVersion {
  readonly group: string;
  readonly version: string;
}

function groupVersionsOf(resources: readonly OpenApiResource[]): GroupVersion[] {
  const seen = new Map(resources.map((r) => [rootPath(r.group, r.version), r]));
  return [...seen.values()].map(({ group, version }) => ({ group, version }));
}

/** What can be asked about the server itself: versions, groups, resources. */
function discoveryItems(resources: readonly OpenApiResource[]): PathItem[] {
  const groupVersions = groupVersionsOf(resources);
  const groups = new Set(groupVersions.map(({ group }) => group).filter((group) => group !== ""));
  return [
    discoveryItem("/api/", "getCoreAPIVersions", "core", `${META}.APIVersions`),
    discoveryItem("/apis/", "getAPIVersions", "apis", `${META}.APIGroupList`),
    ...[...groups].map((group) => {
      const [first = "", ...rest] = groupWords(group);
      const tag = first + rest.map(capital).join("");
      return discoveryItem(
        `/apis/${group}/`,
        `get${capital(tag)}APIGroup`,
        tag,
        `${META}.APIGroup`,
      );
    }),
    ...groupVersions.map(({ group, version }) => apiResourcesItem(group, version)),
  ];
}

function apiResourcesItem(group: string, version: string): PathItem {
  const id = `get${groupVersionWord(group, version)}APIResources`;
  const tag = groupVersionTag(group, version);
  return discoveryItem(`${rootPath(group, version)}/`, id, tag, `${META}.APIResourceList`);
}

const DISCOVERY_WORDS: Readonly<Record<string, string>> = {
  [`${META}.APIVersions`]: "get available API versions",
  [`${META}.APIGroupList`]: "get available API versions",
  [`${META}.APIGroup`]: "get information of a group",
  [`${META}.APIResourceList`]: "get available resources",
};

function discoveryItem(path: string, id: string, tag: string, answer: string): PathItem {
  const operation: Operation = {
    method: "get",
    id,
    description: DISCOVERY_WORDS[answer]!,
    tag,
    parameters: [],
    consumes: OBJECT_MEDIA,
    produces: OBJECT_MEDIA,
    answers: [200],
    answer,
  };
  return { path, operations: [operation] };
}

/** Every definition that the paths lead to. */
function definitionsOf(
  items: readonly PathItem[],
  dialect: Dialect,
  { resources, prose, moreDefinitions = {} }: OpenApiInput,
): Json {
  const groupVersions = groupVersionsOf(resources);
  const definitions: Record<string, Json> = {};
  const add = (name: string, struct: StructSchema | undefined): void => {
    if (name in definitions) return;
    if (struct === undefined) {
      definitions[name] = moreDefinitions[name] ?? describeValue(name, dialect, prose) ?? {};
      return;
    }
    const kinds = kindsOf(struct, groupVersions);
    const gvk = kinds.length > 0 ? { "x-kubernetes-group-version-kind": kinds } : {};
    definitions[name] = { ...describeStruct(struct, dialect, prose), ...gvk };
    for (const [inner, innerStruct] of mentionedDefinitions(struct)) add(inner, innerStruct);
  };
  for (const { operations } of items) {
    for (const { body, answer } of operations) {
      for (const name of [body?.definition, answer]) {
        if (name !== undefined) add(name, findSchemaByDefinition(name));
      }
    }
  }
  return sorted(definitions);
}

const EVERYWHERE: ReadonlySet<string> = new Set([
  "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions",
  "io.k8s.apimachinery.pkg.apis.meta.v1.WatchEvent",
]);

/** Options and watch events belong to every group version, all else to the one of its table. */
function kindsOf(struct: StructSchema, groupVersions: readonly GroupVersion[]): Json[] {
  const name = struct.name.slice(struct.name.lastIndexOf(".") + 1);
  if (EVERYWHERE.has(struct.name)) {
    return groupVersions.map(({ group, version }) => ({ group, kind: name, version }));
  }
  const home = groupVersionOfDefinition(struct.name);
  if (struct.byName.get("kind")?.number !== 0 || home === undefined) return [];
  const group = home.group === "meta.k8s.io" ? "" : home.group;
  return [{ group, kind: name, version: home.version }];
}
