/**
 * The OpenAPI documents of a server: version 2 in one piece, version 3 one for each group version.
 * Pure functions of the served resources and the fact tables; nothing is kept.
 */
import { findSchemaByDefinition, groupVersionOfDefinition } from "#api/schema/from-facts.ts";
import type { StructSchema } from "#api/schema/schema.ts";
import { customDefinitions, referencesIn } from "./custom-definitions.ts";
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
import { describeVersion, SERVER_ITEMS, VERSION_INFO } from "./server-items.ts";

export interface OpenApiInput {
  readonly resources: readonly OpenApiResource[];
  readonly prose: Prose;
  /** Major and minor: 1.36 */
  readonly serverVersion: string;
}

/** The document at /openapi/v2. */
export function openApiV2(input: OpenApiInput): Json {
  const { resources, serverVersion } = input;
  const items = [
    ...resources.flatMap(pathItems),
    ...Object.values(discoveryItems(resources)),
    ...Object.values(SERVER_ITEMS),
  ];
  return {
    swagger: "2.0",
    info: { title: "Kubernetes", version: serverVersion },
    paths: renderPaths(items, "v2"),
    definitions: definitionsOf(items, "v2", input, groupVersionsOf(resources)),
    securityDefinitions: { BearerToken: { ...BEARER_TOKEN } },
    security: [{ BearerToken: [] }],
  };
}

/** The paths below /openapi/v3 with a document of their own: `api`, `api/v1`, `apis/apps`, `version`, … */
export function openApiV3Paths(resources: readonly OpenApiResource[]): string[] {
  return [...Object.keys(discoveryItems(resources)), ...Object.keys(SERVER_ITEMS)].sort();
}

/** The document at /openapi/v3/PATH; undefined if there is none. */
export function openApiV3(input: OpenApiInput, path: string): Json | undefined {
  const { resources, serverVersion } = input;
  const about = discoveryItems(resources)[path] ?? SERVER_ITEMS[path];
  if (about === undefined) return undefined;
  const own = resources.filter((r) => rootPath(r.group, r.version) === `/${path}`);
  const all = [...own.flatMap(pathItems), about];
  const homes = [CORE, ...groupVersionsOf(own).filter(({ group }) => group !== "")];
  const schemas = definitionsOf(all, "v3", input, homes);
  return {
    openapi: "3.0.0",
    info: { title: "Kubernetes", version: serverVersion },
    paths: renderPaths(all, "v3"),
    components: {
      ...(Object.keys(schemas).length === 0 ? {} : { schemas }),
      securitySchemes: { BearerToken: { ...BEARER_TOKEN } },
    },
  };
}

const CORE: GroupVersion = { group: "", version: "v1" };

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

/** What can be asked about groups and their resources, by path without slashes around it. */
function discoveryItems(resources: readonly OpenApiResource[]): Readonly<Record<string, PathItem>> {
  const groupVersions = groupVersionsOf(resources);
  const groups = new Set(groupVersions.map(({ group }) => group).filter((group) => group !== ""));
  const items = [
    discoveryItem("/api/", "getCoreAPIVersions", "core", `${META}.APIVersions`),
    discoveryItem("/apis/", "getAPIVersions", "apis", `${META}.APIGroupList`),
    ...[...groups].map(groupItem),
    ...groupVersions.map(({ group, version }) => apiResourcesItem(group, version)),
  ];
  return Object.fromEntries(items.map((item) => [item.path.slice(1, -1), item]));
}

function groupItem(group: string): PathItem {
  const [first = "", ...rest] = groupWords(group);
  const tag = first + rest.map(capital).join("");
  return discoveryItem(`/apis/${group}/`, `get${capital(tag)}APIGroup`, tag, `${META}.APIGroup`);
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

/** Every definition that the paths lead to. What belongs to every group version belongs to `homes`. */
function definitionsOf(
  items: readonly PathItem[],
  dialect: Dialect,
  { prose, resources }: OpenApiInput,
  homes: readonly GroupVersion[],
): Json {
  const definitions: Record<string, Json> = {};
  const customs = customDefinitions(resources, dialect);
  const add = (name: string, struct: StructSchema | undefined): void => {
    if (Object.hasOwn(definitions, name)) return;
    const custom = customs.get(name);
    if (custom !== undefined) {
      definitions[name] = custom;
      for (const inner of referencesIn(custom)) add(inner, findSchemaByDefinition(inner));
      return;
    }
    if (struct === undefined) {
      const value = name === VERSION_INFO ? describeVersion(dialect) : undefined;
      definitions[name] = value ?? describeValue(name, dialect, prose) ?? {};
      return;
    }
    const kinds = kindsOf(struct, homes);
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
