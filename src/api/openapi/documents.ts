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

/** The document at /openapi/v2. */
export function openApiV2(input: OpenApiInput): Json {
  const { resources } = input;
  const fragments = [...resources.map(resourceFragmentV2), serverFragmentV2(resources)];
  const roots = new Set(fragments.flatMap((fragment) => fragment.roots));
  const customs = fragments.map(({ definitions }) => definitions);
  const definitions = Object.assign(
    Object.fromEntries(definitionsV2(roots, input)),
    ...customs,
  ) as Json;
  return {
    ...openApiV2Head(input),
    paths: sorted(Object.assign({}, ...fragments.map(({ paths }) => paths))),
    definitions: sorted(definitions),
    ...openApiV2Tail(),
  };
}

/** What stands before the paths. */
export function openApiV2Head({ serverVersion }: Pick<OpenApiInput, "serverVersion">): Json {
  return { swagger: "2.0", info: { title: "Kubernetes", version: serverVersion } };
}

/** What stands after the definitions. */
export function openApiV2Tail(): Json {
  return {
    securityDefinitions: { BearerToken: { ...BEARER_TOKEN } },
    security: [{ BearerToken: [] }],
  };
}

/** The paths of one resource and, if it is a custom one, its definitions. */
export function resourceFragmentV2(resource: OpenApiResource): OpenApiFragment {
  const items = pathItems(resource);
  const own = customDefinitions([resource], "v2");
  const references = [...own.values()].flatMap(referencesIn);
  const roots = [...rootsOf(items), ...references].filter((name) => !own.has(name));
  return { paths: renderPaths(items, "v2"), definitions: Object.fromEntries(own), roots };
}

/** What can be asked about groups, and the paths of the server itself. */
export function serverFragmentV2(resources: readonly OpenApiResource[]): OpenApiFragment {
  const items = [...Object.values(discoveryItems(resources)), ...Object.values(SERVER_ITEMS)];
  return { paths: renderPaths(items, "v2"), definitions: {}, roots: rootsOf(items) };
}

/** The definitions of version 2 that the roots lead to, one after another. */
export function* definitionsV2(
  roots: Iterable<string>,
  input: OpenApiInput,
): Generator<readonly [string, Json]> {
  yield* definitionEntries(roots, "v2", input, groupVersionsOf(input.resources));
}

/** The paths below /openapi/v3 with a document of their own: `api`, `api/v1`, `apis/apps`, `version`, … */
export function openApiV3Paths(resources: readonly OpenApiResource[]): string[] {
  return [...Object.keys(discoveryItems(resources)), ...Object.keys(SERVER_ITEMS)].sort();
}

/** The document at /openapi/v3/PATH; undefined if there is none. */
export function openApiV3(input: OpenApiInput, path: string): Json | undefined {
  const entries = openApiV3Entries(input, path);
  if (entries === undefined) return undefined;
  const paths: Record<string, Json> = {};
  const schemas: Record<string, Json> = {};
  for (const [section, name, value] of entries) {
    (section === "paths" ? paths : schemas)[name] = value;
  }
  return openApiV3Document(input, sorted(paths), sorted(schemas));
}

/** The members of the two large parts of a document of version 3, in any order. */
type OpenApiV3Entry = readonly [section: "paths" | "schemas", name: string, value: Json];

/** The same as entries, each of which is made when it is taken. */
export function openApiV3Entries(
  input: OpenApiInput,
  path: string,
): Iterable<OpenApiV3Entry> | undefined {
  const { resources } = input;
  const about = discoveryItems(resources)[path] ?? SERVER_ITEMS[path];
  if (about === undefined) return undefined;
  const own = resources.filter((r) => rootPath(r.group, r.version) === `/${path}`);
  const homes = [CORE, ...groupVersionsOf(own).filter(({ group }) => group !== "")];
  return (function* (): Generator<OpenApiV3Entry> {
    const roots = new Set(rootsOf([about]));
    for (const items of [[about], ...own.map(pathItems)]) {
      for (const root of rootsOf(items)) roots.add(root);
      for (const item of items) {
        for (const [name, value] of Object.entries(renderPaths([item], "v3"))) {
          yield ["paths", name, value as Json];
        }
      }
    }
    for (const [name, value] of definitionEntries(
      roots,
      "v3",
      { ...input, resources: own },
      homes,
    )) {
      yield ["schemas", name, value];
    }
  })();
}

export function openApiV3Document(
  { serverVersion }: Pick<OpenApiInput, "serverVersion">,
  paths: Json,
  schemas: Json,
): Json {
  return {
    openapi: "3.0.0",
    info: { title: "Kubernetes", version: serverVersion },
    paths,
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

/** The names of the definitions that operations take and answer with. */
function rootsOf(items: readonly PathItem[]): string[] {
  const names = items.flatMap(({ operations }) =>
    operations.flatMap(({ body, answer }) => [body?.definition, answer]),
  );
  return [...new Set(names)].filter((name) => name !== undefined);
}

/**
 * Every definition that the roots lead to, one after another. What belongs to every group version
 * belongs to `homes`.
 */
function* definitionEntries(
  roots: Iterable<string>,
  dialect: Dialect,
  { descriptions, resources }: OpenApiInput,
  homes: readonly GroupVersion[],
): Generator<readonly [string, Json]> {
  const seen = new Set<string>();
  const customs = customResourcesByDefinition(resources);
  const waiting: [string, StructSchema | undefined][] = [];
  const add = (name: string, struct: StructSchema | undefined): void => {
    if (seen.has(name)) return;
    seen.add(name);
    waiting.push([name, struct]);
  };
  for (const root of roots) add(root, findSchemaByDefinition(root));
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const [name, struct] = next;
    const resource = customs.get(name);
    if (resource !== undefined) {
      const custom = customDefinitions([resource], dialect).get(name) ?? {};
      for (const inner of referencesIn(custom)) add(inner, findSchemaByDefinition(inner));
      yield [name, custom];
    } else if (struct === undefined) {
      const value = name === VERSION_INFO ? describeVersion(dialect) : undefined;
      yield [name, value ?? describeValue(name, dialect, descriptions) ?? {}];
    } else {
      const kinds = kindsOf(struct, homes);
      const gvk = kinds.length > 0 ? { "x-kubernetes-group-version-kind": kinds } : {};
      for (const [inner, innerStruct] of mentionedDefinitions(struct)) add(inner, innerStruct);
      yield [name, { ...describeStruct(struct, dialect, descriptions), ...gvk }];
    }
  }
}

function customResourcesByDefinition(
  resources: readonly OpenApiResource[],
): ReadonlyMap<string, OpenApiResource> {
  const named = resources
    .filter(({ custom }) => custom !== undefined)
    .flatMap((resource): [string, OpenApiResource][] => [
      [resource.definition, resource],
      [`${resource.definition}List`, resource],
    ]);
  return new Map(named);
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
