/** The definitions of custom resources and of their lists, which no fact table has. */
import { type Dialect, type Json, REFERENCE_PREFIX } from "./definition.ts";
import type { OpenApiResource } from "./resource.ts";

const LIST_META = "io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta";
const CONVENTIONS =
  "https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md";

/** By name, in one dialect. */
export function customDefinitions(
  resources: readonly OpenApiResource[],
  dialect: Dialect,
): ReadonlyMap<string, Json> {
  const definitions = new Map<string, Json>();
  for (const resource of resources) {
    const { custom, definition, group, version, kind } = resource;
    if (custom === undefined) continue;
    definitions.set(definition, {
      ...custom[dialect],
      "x-kubernetes-group-version-kind": [{ group, kind, version }],
    });
    definitions.set(`${definition}List`, listDefinition(resource, custom.listKind, dialect));
  }
  return definitions;
}

/** The names of the definitions that one refers to. */
export function referencesIn(definition: Json): readonly string[] {
  const names = new Set<string>();
  const visit = (value: unknown): void => {
    if (Array.isArray(value)) value.forEach(visit);
    else if (typeof value === "object" && value !== null) {
      for (const [name, member] of Object.entries(value)) {
        if (name === "$ref" && typeof member === "string") {
          names.add(member.slice(member.lastIndexOf("/") + 1));
        } else visit(member);
      }
    }
  };
  visit(definition);
  return [...names];
}

function listDefinition(
  { definition, group, version, kind, plural }: OpenApiResource,
  listKind: string,
  dialect: Dialect,
): Json {
  const reference = (name: string): Json => ({ $ref: `${REFERENCE_PREFIX[dialect]}${name}` });
  return {
    description: `${listKind} is a list of ${kind}`,
    type: "object",
    required: ["items"],
    properties: {
      apiVersion: { type: "string" },
      items: {
        description: `List of ${plural}. More info: ${CONVENTIONS}`,
        type: "array",
        items: reference(definition),
      },
      kind: { type: "string" },
      metadata: dialect === "v2" ? reference(LIST_META) : { allOf: [reference(LIST_META)] },
    },
    "x-kubernetes-group-version-kind": [{ group, kind: listKind, version }],
  };
}
