/** v1 ConfigMap. */

import { ageColumn, nameColumn } from "#api/columns.ts";
import type { ConfigMap } from "#api/generated/core.v1.ts";
import { defineKind } from "#api/kind.ts";
import { objectCount } from "#api/quota/object-count.ts";
import { builtInSchema } from "#api/schema/from-facts.ts";
import { type FieldError, invalid, tooLong } from "#api/validation/field-error.ts";
import {
  validateFinalizers,
  validateKubeMeta,
  validateKubeMetaUpdate,
} from "#api/validation/kube-meta.ts";
import { isConfigMapKey, nameIsDnsSubdomain } from "#api/validation/names.ts";
import { Path } from "#api/validation/path.ts";
import { utf8Length } from "#lib/text/utf8-length.ts";
import { base64Length, DATA_BYTES_MAX, validateStillImmutable } from "./immutable-data.ts";

const DATA = Path.of("data");
const BINARY_DATA = Path.of("binaryData");

export const configMapKind = defineKind<ConfigMap>({
  group: "",
  version: "v1",
  names: { kind: "ConfigMap", plural: "configmaps", short: ["cm"] },
  scope: "Namespaced",
  schema: builtInSchema("core.v1.ConfigMap"),
  quota: objectCount("", "configmaps", "configmaps"),
  nameRule: nameIsDnsSubdomain,
  unconditionalUpdate: true,

  validate: (configMap) => [...validateFinalizers(configMap.metadata), ...validateData(configMap)],
  validateUpdate: (next, old) => [
    ...validateKubeMetaUpdate(next, old),
    ...validateStillImmutable(next, old, ["data", "binaryData"], "data"),
    ...validateKubeMeta(next.metadata, { namespaced: true, nameRule: nameIsDnsSubdomain }),
    ...validateData(next),
  ],

  columns: [
    nameColumn,
    {
      name: "Data",
      type: "string",
      describedBy: "core.v1.ConfigMap.data",
      cell: ({ data = {}, binaryData = {} }) =>
        Object.keys(data).length + Object.keys(binaryData).length,
    },
    ageColumn,
  ],
});

function validateData({ data = {}, binaryData = {} }: ConfigMap): FieldError[] {
  const errors: FieldError[] = [];
  let bytes = 0;
  for (const key of Object.keys(data)) {
    for (const fault of isConfigMapKey(key)) errors.push(invalid(DATA.key(key), key, fault));
    if (Object.hasOwn(binaryData, key)) {
      errors.push(invalid(DATA.key(key), key, "duplicate of key present in binaryData"));
    }
    bytes += utf8Length(data[key]!);
  }
  for (const key of Object.keys(binaryData)) {
    for (const fault of isConfigMapKey(key)) {
      errors.push(invalid(BINARY_DATA.key(key), key, fault));
    }
    bytes += base64Length(binaryData[key]!);
  }
  // The fault is the whole object's, which the API writes as "[]".
  if (bytes > DATA_BYTES_MAX) errors.push(tooLong(Path.of("[]"), DATA_BYTES_MAX));
  return errors;
}
