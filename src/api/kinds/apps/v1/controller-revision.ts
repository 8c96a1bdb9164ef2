/** apps/v1 ControllerRevision: a state that a controller may want to go back to. */

import { ageColumn, NONE, nameColumn } from "#api/columns.ts";
import type { ControllerRevision } from "#api/generated/apps.v1.ts";
import { defineKind } from "#api/kind.ts";
import { builtInSchema } from "#api/schema/from-facts.ts";
import { type FieldError, required } from "#api/validation/field-error.ts";
import { validateImmutableField } from "#api/validation/immutable.ts";
import {
  validateFinalizers,
  validateKubeMeta,
  validateKubeMetaUpdate,
} from "#api/validation/kube-meta.ts";
import { nameIsDnsSubdomain } from "#api/validation/names.ts";
import { validateNonNegative } from "#api/validation/object-meta.ts";
import { Path } from "#api/validation/path.ts";

const DATA = Path.of("data");
const REVISION = Path.of("revision");

export const controllerRevisionKind = defineKind<ControllerRevision>({
  group: "apps",
  version: "v1",
  names: { kind: "ControllerRevision", plural: "controllerrevisions" },
  scope: "Namespaced",
  schema: builtInSchema("apps.v1.ControllerRevision"),
  holdsFreeJson: true,
  nameRule: nameIsDnsSubdomain,
  unconditionalUpdate: true,
  validate: (object) => [
    ...validateFinalizers(object.metadata),
    ...validateNonNegative(object.revision, REVISION),
    ...validateData(object.data),
  ],
  validateUpdate: (object, old) => [
    ...validateKubeMetaUpdate(object, old),
    ...validateKubeMeta(object.metadata, { namespaced: true, nameRule: nameIsDnsSubdomain }),
    ...validateNonNegative(object.revision, REVISION),
    ...validateImmutableField(object.data, old.data, DATA),
  ],
  columns: [
    nameColumn,
    {
      name: "Controller",
      type: "string",
      description: "Controller of the object",
      cell: ({ metadata }) => {
        const owner = metadata.ownerReferences?.find(({ controller }) => controller === true);
        if (owner === undefined) return NONE;
        const [group] = owner.apiVersion.includes("/") ? owner.apiVersion.split("/") : [""];
        const kind = group === "" ? owner.kind : `${owner.kind}.${group}`;
        return `${kind.toLowerCase()}/${owner.name}`;
      },
    },
    {
      name: "Revision",
      type: "string",
      describedBy: "apps.v1.ControllerRevision.revision",
      cell: ({ revision }) => revision,
    },
    ageColumn,
  ],
});

function validateData(data: unknown): FieldError[] {
  if (data === undefined || data === null) return [required(DATA, "data is mandatory")];
  if (typeof data === "object" && !Array.isArray(data)) return [];
  return [required(DATA, "data must be a valid JSON object")];
}
