/** What operations are made of: parameters, media types, and the record of an operation itself. */
import { schemaOf } from "#api/schema/from-facts.ts";
import type { Schema } from "#api/schema/schema.ts";

export interface PathItem {
  readonly path: string;
  readonly operations: readonly Operation[];
}

export interface Operation {
  readonly method: "get" | "put" | "post" | "patch" | "delete" | "head" | "options";
  readonly id: string;
  readonly description: string;
  readonly tag: string;
  readonly parameters: readonly Parameter[];
  readonly body?: { readonly definition: string; readonly required: boolean };
  readonly consumes: readonly string[];
  readonly produces: readonly string[];
  /** Status codes of success, and the definition that they carry; undefined: plain text. */
  readonly answers: readonly number[];
  readonly answer: string | undefined;
  readonly action?: string;
  readonly kind?: GroupVersionKind;
}

export interface GroupVersionKind {
  readonly group: string;
  readonly kind: string;
  readonly version: string;
}

export interface Parameter {
  readonly name: string;
  readonly in: "path" | "query";
  readonly type: "string" | "boolean" | "integer";
  readonly description?: string;
}

const META = "io.k8s.apimachinery.pkg.apis.meta.v1";
export const STATUS = `${META}.Status`;
export const PATCH = `${META}.Patch`;
export const DELETE_OPTIONS = `${META}.DeleteOptions`;
export const WATCH_EVENT = `${META}.WatchEvent`;

export const OBJECT_MEDIA = [
  "application/json",
  "application/yaml",
  "application/vnd.kubernetes.protobuf",
] as const;
export const WATCH_MEDIA = [
  ...OBJECT_MEDIA,
  "application/json;stream=watch",
  "application/vnd.kubernetes.protobuf;stream=watch",
] as const;
export const PATCH_MEDIA = [
  "application/json-patch+json",
  "application/merge-patch+json",
  "application/strategic-merge-patch+json",
  "application/apply-patch+yaml",
] as const;
/** Custom resources have no struct to merge by. */
export const CUSTOM_PATCH_MEDIA = PATCH_MEDIA.filter((type) => !type.includes("strategic"));
export const ANY_MEDIA = ["*/*"] as const;

export const PRETTY = query("pretty");
const DRY_RUN = query("dryRun");
export const WRITE_PARAMETERS = [DRY_RUN, query("fieldManager"), query("fieldValidation")];
export const DELETE_PARAMETERS = [
  DRY_RUN,
  query("gracePeriodSeconds", "integer"),
  query("ignoreStoreReadErrorWithClusterBreakingPotential", "boolean"),
  query("orphanDependents", "boolean"),
  query("propagationPolicy"),
];
export const SELECT_PARAMETERS = [
  query("continue"),
  query("fieldSelector"),
  query("labelSelector"),
  query("limit", "integer"),
  query("resourceVersion"),
  query("resourceVersionMatch"),
  query("sendInitialEvents", "boolean"),
  query("shardSelector"),
  query("timeoutSeconds", "integer"),
];
export const LIST_PARAMETERS = [
  ...SELECT_PARAMETERS,
  query("allowWatchBookmarks", "boolean"),
  query("watch", "boolean"),
];

export const NAMESPACE: Parameter = {
  name: "namespace",
  in: "path",
  type: "string",
  description: "object name and auth scope, such as for teams and projects",
};

/** Nor can they be protobuf. */
export function customMedia(types: readonly string[]): string[] {
  return types.filter((type) => !type.includes("protobuf"));
}

/** The fields of an options struct as parameters of a query. */
export function optionParameters(type: string): Parameter[] {
  return schemaOf(type)
    .fields.filter(({ number, schema }) => number > 0 && !isTime(schema))
    .map(({ name, schema }) => query(name, parameterType(schema)));
}

/** Upstream's documents leave times out of queries. */
function isTime(schema: Schema): boolean {
  return schema.shape === "scalar" && schema.scalar === "Time";
}

function parameterType(schema: Schema): Parameter["type"] {
  if (schema.shape === "list") return parameterType(schema.item);
  if (schema.shape !== "scalar") return "string";
  if (schema.scalar === "bool") return "boolean";
  return schema.scalar.startsWith("int") ? "integer" : "string";
}

export function query(name: string, type: Parameter["type"] = "string"): Parameter {
  return { name, in: "query", type };
}
