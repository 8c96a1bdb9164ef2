/** A CustomResourceDefinition for tests, and a way to wait until it is served. */
import type { TestApi } from "../api.testing.ts";

// biome-ignore lint/suspicious/noExplicitAny: tests build definitions of every shape
type Json = any;

export const DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
export const WIDGETS = "/apis/example.com/v1/namespaces/default/widgets";

const SPEC_SCHEMA = {
  type: "object",
  required: ["size"],
  properties: {
    size: { type: "integer", minimum: 1, maximum: 10 },
    color: { type: "string", enum: ["red", "blue"], default: "red" },
    tags: { type: "array", items: { type: "string" }, "x-kubernetes-list-type": "set" },
    parts: {
      type: "array",
      items: {
        type: "object",
        properties: { id: { type: "string" }, n: { type: "integer", default: 3 } },
        required: ["id"],
      },
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["id"],
    },
    opts: { type: "object", additionalProperties: { type: "string" } },
    port: { "x-kubernetes-int-or-string": true },
    note: { type: "string", nullable: true },
    free: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
  },
};

export function versionOf(name: string, more: Json = {}): Json {
  const { spec = SPEC_SCHEMA, ...rest } = more;
  return {
    name,
    served: true,
    storage: true,
    schema: {
      openAPIV3Schema: {
        type: "object",
        properties: {
          spec,
          status: {
            type: "object",
            properties: {
              replicas: { type: "integer" },
              phase: { type: "string" },
              selector: { type: "string" },
            },
          },
        },
      },
    },
    ...rest,
  };
}

export function definition(more: Json = {}): Json {
  const { names, versions = [versionOf("v1")], group = "example.com", scope = "Namespaced" } = more;
  const { conversion } = more;
  const all = {
    plural: "widgets",
    singular: "widget",
    kind: "Widget",
    shortNames: ["wd"],
    ...names,
  };
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${all.plural}.${group}` },
    spec: { group, scope, names: all, versions, ...(conversion && { conversion }) },
  };
}

export function widget(name: string, spec: Json = { size: 1 }, more: Json = {}): Json {
  return { apiVersion: "example.com/v1", kind: "Widget", metadata: { name }, spec, ...more };
}

/** Creates the definition and waits until its condition says what is wanted. */
export async function define(t: TestApi, body: Json, condition = "Established"): Promise<Json> {
  await t.want(201, "POST", DEFINITIONS, { body });
  return await until(t, body.metadata.name, (found) => conditionOf(found, condition) !== undefined);
}

export async function until(
  t: TestApi,
  name: string,
  isDone: (found: Json) => boolean,
): Promise<Json> {
  for (let round = 0; round < 500; round++) {
    const { body } = await t.ask("GET", `${DEFINITIONS}/${name}`);
    if (isDone(body)) return body;
    await new Promise((resolve) => setImmediate(resolve));
  }
  throw new Error(`${name} did not come to it`);
}

export function conditionOf(found: Json, type: string): string | undefined {
  const one = found.status?.conditions?.find((condition: Json) => condition.type === type);
  return one && `${one.status} ${one.reason}`;
}
