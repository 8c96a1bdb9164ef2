/**
 * CustomResourceDefinitions in the version in which upstream stores them: what all versions have in
 * common stands beside them, and the webhook of conversions is not an object of its own.
 */
import type { KubeObject } from "#api/kind.ts";
import { membersOf, objectOf } from "#api/members.ts";
import { isObject, type JsonObject } from "#api/patch/json-value.ts";

export function fromV1beta1(definition: KubeObject): KubeObject {
  const { spec, ...rest } = membersOf(definition);
  const apiVersion = "apiextensions.k8s.io/v1";
  return objectOf({ ...rest, apiVersion, spec: specOf(isObject(spec) ? spec : {}) });
}

function specOf(spec: JsonObject): JsonObject {
  const { version, validation, subresources, additionalPrinterColumns, selectableFields } = spec;
  const { versions, conversion, preserveUnknownFields } = spec;
  const common = {
    ...(validation === undefined ? {} : { schema: validation }),
    ...(subresources === undefined ? {} : { subresources }),
    ...(selectableFields === undefined ? {} : { selectableFields }),
    ...(additionalPrinterColumns === undefined ? {} : { additionalPrinterColumns }),
  };
  const listed = Array.isArray(versions) && versions.length > 0;
  const all = listed ? versions : [{ name: version, served: true, storage: true }];
  return {
    group: spec.group,
    names: spec.names,
    scope: spec.scope,
    versions: all.map((one) => withColumns({ ...(isObject(one) ? one : {}), ...common })),
    ...(isObject(conversion) ? { conversion: conversionOf(conversion) } : {}),
    ...(preserveUnknownFields === true ? { preserveUnknownFields } : {}),
  };
}

function withColumns(version: JsonObject): JsonObject {
  const { additionalPrinterColumns: columns } = version;
  if (!Array.isArray(columns)) return version;
  return { ...version, additionalPrinterColumns: columns.map(columnOf) };
}

function columnOf(column: unknown): unknown {
  if (!isObject(column)) return column;
  const { JSONPath: jsonPath, ...rest } = column;
  return jsonPath === undefined ? rest : { ...rest, jsonPath };
}

function conversionOf(conversion: JsonObject): JsonObject {
  const { webhookClientConfig: clientConfig, conversionReviewVersions, ...rest } = conversion;
  if (clientConfig === undefined && conversionReviewVersions === undefined) return rest;
  return {
    ...rest,
    webhook: {
      ...(clientConfig === undefined ? {} : { clientConfig }),
      ...(conversionReviewVersions === undefined ? {} : { conversionReviewVersions }),
    },
  };
}
