/** storage.k8s.io/v1 CSIStorageCapacity: how much room a driver has for a class in a place. */

import { createdAtColumn, nameColumn } from "#api/columns.ts";
import type { CSIStorageCapacity } from "#api/generated/storage.v1.ts";
import { defineKind } from "#api/kind.ts";
import { validateClassName } from "#api/kinds/core/v1/persistent-volume/access-modes.ts";
import { nodeLabelDeprecation } from "#api/kinds/core/v1/pod/placement/placement-warnings.ts";
import { quantityOf, quantitySign } from "#api/meta/quantity.ts";
import { builtInSchema } from "#api/schema/from-facts.ts";
import { type FieldError, invalid } from "#api/validation/field-error.ts";
import { validateImmutableField } from "#api/validation/immutable.ts";
import {
  validateFinalizers,
  validateKubeMeta,
  validateKubeMetaUpdate,
} from "#api/validation/kube-meta.ts";
import { validateLabelSelector } from "#api/validation/labels.ts";
import { nameIsDnsSubdomain } from "#api/validation/names.ts";
import { Path } from "#api/validation/path.ts";

const TOPOLOGY = Path.of("nodeTopology");

export const csiStorageCapacityKind = defineKind<CSIStorageCapacity>({
  group: "storage.k8s.io",
  version: "v1",
  names: { kind: "CSIStorageCapacity", plural: "csistoragecapacities" },
  scope: "Namespaced",
  schema: builtInSchema("storage.v1.CSIStorageCapacity"),
  nameRule: nameIsDnsSubdomain,

  validate: (capacity) => [
    ...validateFinalizers(capacity.metadata),
    ...validateCapacity(capacity, false),
  ],
  validateUpdate: (next, old) => [
    ...validateKubeMeta(next.metadata, { namespaced: true, nameRule: nameIsDnsSubdomain }),
    ...validateCapacity(next, validateLabelSelector(old.nodeTopology, {}, TOPOLOGY).length > 0),
    ...validateKubeMetaUpdate(next, old),
    ...validateImmutableField(next.nodeTopology, old.nodeTopology, TOPOLOGY),
    ...validateImmutableField(
      next.storageClassName,
      old.storageClassName,
      Path.of("storageClassName"),
    ),
  ],
  warnings({ nodeTopology }) {
    const { matchExpressions = [], matchLabels = {} } = nodeTopology ?? {};
    return [
      ...matchExpressions.flatMap(({ key }, i) => {
        const message = nodeLabelDeprecation(key);
        if (message === undefined) return [];
        const path = TOPOLOGY.child("matchExpressions").index(i).child("key");
        return [`${path}: ${key} is ${message}`];
      }),
      ...Object.keys(matchLabels).flatMap((label) => {
        const message = nodeLabelDeprecation(label);
        return message === undefined ? [] : [`${TOPOLOGY.child("matchLabels", label)}: ${message}`];
      }),
    ];
  },

  columns: [nameColumn, createdAtColumn],
});

function validateCapacity(
  { nodeTopology, storageClassName, capacity }: CSIStorageCapacity,
  allowInvalidLabelValue: boolean,
): FieldError[] {
  const errors = [
    ...validateLabelSelector(nodeTopology, { allowInvalidLabelValue }, TOPOLOGY),
    ...validateClassName(storageClassName, Path.of("storageClassName")),
  ];
  if (capacity === undefined || quantitySign(quantityOf(capacity)) >= 0) return errors;
  const path = Path.of("capacity");
  return [...errors, invalid(path, capacity, "must be greater than or equal to 0")];
}
