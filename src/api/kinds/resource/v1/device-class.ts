/** resource.k8s.io DeviceClass: a kind of device that claims can name. */

import { ageColumn, nameColumn } from "#api/columns.ts";
import { RETURNS_OBJECT } from "#api/deletion-rules.ts";
import type { DeviceClass, DeviceClassSpec } from "#api/generated/resource.v1.ts";
import { defineKind, type KindSpec, type RuleContext } from "#api/kind.ts";
import { isExtendedResource } from "#api/kinds/core/v1/resources/resource-names.ts";
import { builtInSchema } from "#api/schema/from-facts.ts";
import { type FieldError, invalid } from "#api/validation/field-error.ts";
import { semanticEqual } from "#api/validation/immutable.ts";
import {
  validateFinalizers,
  validateKubeMeta,
  validateKubeMetaUpdate,
} from "#api/validation/kube-meta.ts";
import { nameIsLongName } from "#api/validation/names.ts";
import { Path } from "#api/validation/path.ts";
import { alsoServedAs } from "#api/versions.ts";
import { deprecationOf } from "../deprecation.ts";
import { CONFIGS_MAX, validateConfiguration, validateSelectors } from "./device-parts.ts";
import { validateList } from "./lists.ts";

const META = { namespaced: false, nameRule: nameIsLongName };

const spec: KindSpec<DeviceClass> = {
  group: "resource.k8s.io",
  version: "v1",
  names: { kind: "DeviceClass", plural: "deviceclasses" },
  scope: "Cluster",
  schema: builtInSchema("resource.v1.DeviceClass"),
  holdsFreeJson: true,
  deletion: RETURNS_OBJECT,
  nameRule: nameIsLongName,
  generation: true,
  unconditionalUpdate: true,
  validate: ({ metadata, spec }, context) => [
    ...validateFinalizers(metadata),
    ...validateSpec(spec, undefined, context),
  ],
  validateUpdate: (deviceClass, old, context) => [
    ...validateKubeMeta(deviceClass.metadata, META),
    ...validateKubeMetaUpdate(deviceClass, old),
    ...validateSpec(deviceClass.spec, old.spec, context),
  ],
  columns: [nameColumn, ageColumn],
};

export const deviceClassKind = defineKind(spec);
export const deviceClassV1beta2Kind = alsoServedAs(
  spec,
  "v1beta2",
  "resource.v1beta2.DeviceClass",
  { deprecation: deprecationOf("v1beta2", "DeviceClass") },
);
export const deviceClassV1beta1Kind = alsoServedAs(
  spec,
  "v1beta1",
  "resource.v1beta1.DeviceClass",
  { deprecation: deprecationOf("v1beta1", "DeviceClass") },
);

function validateSpec(
  { selectors, config, extendedResourceName: name }: DeviceClassSpec,
  old: DeviceClassSpec | undefined,
  context: RuleContext,
): FieldError[] {
  const path = Path.of("spec");
  const sameSelectors = old !== undefined && semanticEqual(selectors, old.selectors);
  const sameConfig = old !== undefined && semanticEqual(config, old.config);
  const errors = [
    ...validateSelectors(selectors, sameSelectors, context, path.child("selectors")),
    ...validateList(
      config,
      CONFIGS_MAX,
      (entry, at) => validateConfiguration(entry, sameConfig, at),
      path.child("config"),
    ),
  ];
  if (name !== undefined && !isExtendedResource(name)) {
    const at = path.child("extendedResourceName");
    errors.push(invalid(at, name, "must be a valid extended resource name"));
  }
  return errors;
}
