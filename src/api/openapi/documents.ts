/**
 * The OpenAPI documents of a server: version 2 as one document, version 3 one for each group version.
 * Pure functions of the served resources and the fact tables; nothing is kept.
 */
import { findSchemaByDefinition, groupVersionOfDefinition } from "#api/schema/from-facts.ts";
import type { StructSchema } from "#api/schema/schema.ts";
import { customDefinitions, referencesIn } from "./custom-definitions.ts";
import {
  type Descriptions,
  type Dialect,
  describeStruct,
  describeValue,
  type Json,
  mentionedDefinitions,
} from "./definition.ts";
import { capital, groupVersionTag, groupVersionWord, groupWords, rootPath } from "./names.ts";
import { OBJECT_MEDIA, type Operation, type PathItem } from "./operation.ts";
import { pathItems } from "./operations.ts";
import { renderPaths, sorted } from "./paths.ts";
import type { OpenApiResource } from "./resource.ts";
import { describeVersion, SERVER_ITEMS, VERSION_INFO } from "./server-items.ts";

export interface OpenApiInput {
  readonly resources: readonly OpenApiResource[];
  readonly descriptions: Descriptions;
  /** Major and minor: 1.36 */
  readonly serverVersion: string;
}

/** A part of a document, and the names of the definitions elsewhere that it refers to. */
export interface OpenApiFragment {
  readonly paths: Json;
  readonly definitions: Json;
  readonly roots: readonly string[];
}

export interface GroupVersion {
  readonly group: string;
  readonly version: string;
}

/** The document at /openapi/v2. */
export function openApiV2(input: OpenApiInput): Json {
  const { resources, descriptions } = input;
  const fragments = [
    serverFragment(resources),
    ...resources.map((resource) => resourceFragment(resource, "v2")),
  ];
  const { paths, definitions } = wholeOf(fragments, "v2", descriptions, groupVersionsOf(resources));
  return { ...openApiHead("v2", input), paths, definitions, ...openApiV2Tail() };
}

/** The document at /openapi/v3/PATH; undefined if there is none. */
export function openApiV3(input: OpenApiInput, path: string): Json | undefined {
  const { resources, descriptions } = input;
  const about = pathFragmentV3(resources, path);
  if (about === undefined) return undefined;
  const own = resources.filter((r) => rootPath(r.group, r.version) === `/${path}`);
  const fragments = [about, ...own.map((resource) => resourceFragment(resource, "v3"))];
  const { paths, definitions } = wholeOf(fragments, "v3", descriptions, homesV3(own));
  return { ...openApiHead("v3", input), paths, components: componentsV3(definitions) };
}

/** What stands before the paths. */
export function openApiHead(
  dialect: Dialect,
  { serverVersion }: Pick<OpenApiInput, "serverVersion">,
): Json {
  const info = { title: "Kubernetes", version: serverVersion };
  return dialect === "v2" ? { swagger: "2.0", info } : { openapi: "3.0.0", info };
}

/** What stands after the definitions. */
export function openApiV2Tail(): Json {
  return {
    securityDefinitions: { BearerToken: { ...BEARER_TOKEN } },
    security: [{ BearerToken: [] }],
  };
}

export function componentsV3(schemas: Json): Json {
  return {
    ...(Object.keys(schemas).length === 0 ? {} : { schemas }),
    securitySchemes: { BearerToken: { ...BEARER_TOKEN } },
  };
}

/** The paths of one resource and, if it is a custom one, its definitions. */
export function resourceFragment(resource: OpenApiResource, dialect: Dialect): OpenApiFragment {
  const items = pathItems(resource);
  const own = customDefinitions([resource], dialect);
  const references = [...own.values()].flatMap(referencesIn);
  const roots = [...rootsOf(items), ...references].filter((name) => !own.has(name));
  return { paths: renderPaths(items, dialect), definitions: Object.fromEntries(own), roots };
}

/** What can be asked about groups, and the paths of the server itself, in the document of version 2. */
export function serverFragment(resources: readonly OpenApiResource[]): OpenApiFragment {
  const items = [...Object.values(discoveryItems(resources)), ...Object.values(SERVER_ITEMS)];
  return { paths: renderPaths(items, "v2"), definitions: {}, roots: rootsOf(items) };
}

/** The path that a document of version 3 is about; undefined if there is no such document. */
export function pathFragmentV3(
  resources: readonly OpenApiResource[],
  path: string,
): OpenApiFragment | undefined {
  const about = discoveryItems(resources)[path] ?? SERVER_ITEMS[path];
  if (about === undefined) return undefined;
  return { paths: renderPaths([about], "v3"), definitions: {}, roots: rootsOf([about]) };
}

/** The paths below /openapi/v3 with a document of their own: `api`, `api/v1`, `apis/apps`, `version`, … */
export function openApiV3Paths(resources: readonly OpenApiResource[]): string[] {
  return [...Object.keys(discoveryItems(resources)), ...Object.keys(SERVER_ITEMS)].sort();
}

/**
 * Every definition of a built-in type that the roots lead to, one after another. Those of every group
 * version (`isOfEveryGroup`) are to be completed by `withGroupVersions`.
 */
export function* definitionEntries(
  roots: Iterable<string>,
  dialect: Dialect,
  descriptions: Descriptions,
): Generator<readonly [string, Json]> {
  const seen = new Set<string>();
  const waiting: [string, StructSchema | undefined][] = [];
  const add = (name: string, struct: StructSchema | undefined): void => {
    if (seen.has(name)) return;
    seen.add(name);
    waiting.push([name, struct]);
  };
  for (const root of roots) add(root, findSchemaByDefinition(root));
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const [name, struct] = next;
    if (struct === undefined) {
      const value = name === VERSION_INFO ? describeVersion(dialect) : undefined;
      yield [name, value ?? describeValue(name, dialect, descriptions) ?? {}];
    } else {
      for (const [inner, innerStruct] of mentionedDefinitions(struct)) add(inner, innerStruct);
      yield [name, { ...describeStruct(struct, dialect, descriptions), ...kindOf(struct) }];
    }
  }
}

export function isOfEveryGroup(definition: string): boolean {
  return EVERYWHERE.has(definition);
}

export function withGroupVersions(
  name: string,
  definition: Json,
  groupVersions: readonly GroupVersion[],
): Json {
  const kind = name.slice(name.lastIndexOf(".") + 1);
  const kinds = groupVersions.map(({ group, version }) => ({ group, kind, version }));
  return { ...definition, [GROUP_VERSION_KIND]: kinds };
}

export function groupVersionsOf(resources: readonly OpenApiResource[]): GroupVersion[] {
  const seen = new Map(resources.map((r) => [rootPath(r.group, r.version), r]));
  return [...seen.values()].map(({ group, version }) => ({ group, version }));
}

/** The group versions that a document of version 3 with these resources speaks of. */
export function homesV3(resources: readonly OpenApiResource[]): GroupVersion[] {
  return [CORE, ...groupVersionsOf(resources).filter(({ group }) => group !== "")];
}

function wholeOf(
  fragments: readonly OpenApiFragment[],
  dialect: Dialect,
  descriptions: Descriptions,
  groupVersions: readonly GroupVersion[],
): Pick<OpenApiFragment, "paths" | "definitions"> {
  const roots = new Set(fragments.flatMap((fragment) => fragment.roots));
  const shared = [...definitionEntries(roots, dialect, descriptions)].map(
    ([name, definition]): [string, Json] => [
      name,
      isOfEveryGroup(name) ? withGroupVersions(name, definition, groupVersions) : definition,
    ],
  );
  const customs = fragments.map(({ definitions }) => definitions);
  const definitions = Object.assign(Object.fromEntries(shared), ...customs) as Json;
  return {
    paths: sorted(Object.assign({}, ...fragments.map(({ paths }) => paths))),
    definitions: sorted(definitions),
  };
}

const GROUP_VERSION_KIND = "x-kubernetes-group-version-kind";

const CORE: GroupVersion = { group: "", version: "v1" };

const META = "io.k8s.apimachinery.pkg.apis.meta.v1";

const BEARER_TOKEN = {
  type: "apiKey",
  description: "Bearer Token authentication",
  name: "authorization",
  in: "header",
};

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

/** The names of the definitions that operations take and answer with. */
function rootsOf(items: readonly PathItem[]): string[] {
  const names = items.flatMap(({ operations }) =>
    operations.flatMap(({ body, answer }) => [body?.definition, answer]),
  );
  return [...new Set(names)].filter((name) => name !== undefined);
}

const EVERYWHERE: ReadonlySet<string> = new Set([
  "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions",
  "io.k8s.apimachinery.pkg.apis.meta.v1.WatchEvent",
]);

/** A kind belongs to the group version of its table. */
function kindOf(struct: StructSchema): Json {
  const home = groupVersionOfDefinition(struct.name);
  if (EVERYWHERE.has(struct.name) || home === undefined) return {};
  if (struct.byName.get("kind")?.number !== 0) return {};
  const kind = struct.name.slice(struct.name.lastIndexOf(".") + 1);
  const group = home.group === "meta.k8s.io" ? "" : home.group;
  return { [GROUP_VERSION_KIND]: [{ group, kind, version: home.version }] };
}
