/**
 * What OpenAPI documents say of a served resource: its verbs, its definition and its sub-resources. What
 * needs the schema of the kind is found when it is first read: there are hundreds of resources.
 */
import type { CustomKind } from "#api/kind.ts";
import type { OpenApiResource } from "#api/openapi/resource.ts";
import type { SubresourceRoute } from "#api/subresource-route.ts";
import { lazy } from "#lib/lazy.ts";
import { subresourcesOf } from "../request/subresource-routes.ts";
import type { ServedResource } from "../storage/resources.ts";

export function openApiResource(served: ServedResource): OpenApiResource {
  const { kind, stored } = served;
  const { deletion } = stored.kind;
  const subresources = lazy(() =>
    subresourcesOf(served).map((route) => ({
      name: route.name,
      verbs: route.verbs,
      ...spokenKind(route),
    })),
  );
  return {
    group: kind.group,
    version: kind.version,
    plural: kind.names.plural,
    kind: kind.names.kind,
    namespaced: kind.scope === "Namespaced",
    verbs: kind.verbs,
    get definition() {
      return kind.schema().name;
    },
    ...(kind.custom === undefined
      ? {}
      : { custom: customDefinition(kind.custom, kind.names.list) }),
    deleteAnswersObject: deletion?.returnsObject === true && !deletion.documentedAsStatus,
    get subresources() {
      return subresources();
    },
  };
}

/** The published schemas are made where they are used, and not kept. */
function customDefinition(
  custom: CustomKind,
  listKind: string,
): NonNullable<OpenApiResource["custom"]> {
  return {
    get v2() {
      return custom.publishedSchema("v2");
    },
    get v3() {
      return custom.publishedSchema("v3");
    },
    listKind,
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
