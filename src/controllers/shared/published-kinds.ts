/** The kinds of a group and version with the schemas that the API server publishes for them. */
import type { PublishedKind } from "#api/expressions/typed-kind.ts";
import type { JSONSchemaProps } from "#api/generated/apiextensions.v1.ts";
import type { APIResourceList } from "#api/generated/meta.v1.ts";
import type { Reader } from "#runtime/controller.ts";

interface OpenApiDocument {
  readonly components?: { readonly schemas?: Readonly<Record<string, PublishedSchema>> };
}

type PublishedSchema = JSONSchemaProps & {
  readonly "x-kubernetes-group-version-kind"?: readonly {
    readonly group: string;
    readonly version: string;
    readonly kind: string;
  }[];
};

/** None if the group is not served. */
export async function publishedKinds(
  reader: Reader,
  groupVersion: string,
): Promise<PublishedKind[]> {
  const [group = "", version = ""] = groupVersion.split("/");
  const [listed, published] = await Promise.all([
    reader.raw(`/apis/${groupVersion}`),
    reader.raw(`/openapi/v3/apis/${groupVersion}`),
  ]);
  if (!listed.ok || !published.ok) return [];
  const schemas = Object.values((published.value as OpenApiDocument).components?.schemas ?? {});
  const { resources = [] } = listed.value as Partial<APIResourceList>;
  return (resources ?? []).flatMap(({ name, kind }) => {
    const schema = schemas.find((one) =>
      one["x-kubernetes-group-version-kind"]?.some(
        (of) => of.group === group && of.version === version && of.kind === kind,
      ),
    );
    const isSubresource = name.includes("/");
    return schema === undefined || isSubresource
      ? []
      : [{ group, version, kind, plural: name, schema }];
  });
}
