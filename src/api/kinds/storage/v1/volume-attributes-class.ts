/** storage.k8s.io VolumeAttributesClass, served in two versions that are alike. */

import { ageColumn, nameColumn } from "#api/columns.ts";
import { RETURNS_OBJECT } from "#api/deletion-rules.ts";
import type { VolumeAttributesClass } from "#api/generated/storage.v1.ts";
import { defineKind, type KindSpec } from "#api/kind.ts";
import { builtInSchema } from "#api/schema/from-facts.ts";
import { type FieldError, forbidden, required } from "#api/validation/field-error.ts";
import { semanticEqual } from "#api/validation/immutable.ts";
import {
  validateFinalizers,
  validateKubeMeta,
  validateKubeMetaUpdate,
} from "#api/validation/kube-meta.ts";
import { nameIsDnsSubdomain } from "#api/validation/names.ts";
import { Path } from "#api/validation/path.ts";
import { alsoServedAs } from "#api/versions.ts";
import { validateParameters, validateProvider } from "./parameters.ts";

const spec: KindSpec<VolumeAttributesClass> = {
  group: "storage.k8s.io",
  version: "v1",
  names: { kind: "VolumeAttributesClass", plural: "volumeattributesclasses", short: ["vac"] },
  scope: "Cluster",
  schema: builtInSchema("storage.v1.VolumeAttributesClass"),
  deletion: RETURNS_OBJECT,
  nameRule: nameIsDnsSubdomain,
  unconditionalUpdate: true,

  validate: (attributes) => [
    ...validateFinalizers(attributes.metadata),
    ...validateClass(attributes),
  ],
  validateUpdate: (next, old) => [
    ...validateKubeMetaUpdate(next, old),
    ...(["driverName", "parameters"] as const).flatMap((field) =>
      semanticEqual(next[field], old[field])
        ? []
        : [forbidden(Path.of(field), `updates to ${field} are forbidden.`)],
    ),
    ...validateKubeMeta(next.metadata, { namespaced: false, nameRule: nameIsDnsSubdomain }),
    ...validateClass(next),
  ],

  columns: [
    nameColumn,
    {
      name: "DriverName",
      type: "string",
      describedBy: "storage.v1.VolumeAttributesClass.driverName",
      cell: ({ driverName }) => driverName,
    },
    ageColumn,
  ],
};

export const volumeAttributesClassKind = defineKind(spec);
export const volumeAttributesClassV1Beta1Kind = alsoServedAs(
  spec,
  "v1beta1",
  "storage.v1beta1.VolumeAttributesClass",
  {
    deprecation:
      "storage.k8s.io/v1beta1 VolumeAttributesClass is deprecated in v1.34+, unavailable in v1.37+; use storage.k8s.io/v1 VolumeAttributesClass",
  },
);

function validateClass({ driverName, parameters }: VolumeAttributesClass): FieldError[] {
  const path = Path.of("parameters");
  return [
    ...validateProvider(driverName, Path.of("driverName")),
    ...validateParameters(parameters, path),
    ...(Object.keys(parameters ?? {}).length > 0
      ? []
      : [required(path, "must contain at least one key/value pair")]),
  ];
}
