/** storage.k8s.io/v1 StorageClass: how volumes are made on demand. */

import { isEmptyCollection } from "#api/codec/empty-collections.ts";
import { ageColumn, nameColumn } from "#api/columns.ts";
import { RETURNS_OBJECT } from "#api/deletion-rules.ts";
import type { TopologySelectorTerm } from "#api/generated/core.v1.ts";
import type { StorageClass } from "#api/generated/storage.v1.ts";
import { defineKind } from "#api/kind.ts";
import { nodeLabelDeprecation } from "#api/kinds/core/v1/pod/placement/placement-warnings.ts";
import { builtInSchema } from "#api/schema/from-facts.ts";
import { duplicate, type FieldError, notSupported, required } from "#api/validation/field-error.ts";
import { validateImmutableField } from "#api/validation/immutable.ts";
import {
  validateFinalizers,
  validateKubeMeta,
  validateKubeMetaUpdate,
} from "#api/validation/kube-meta.ts";
import { validateLabelName } from "#api/validation/labels.ts";
import { nameIsDnsSubdomain } from "#api/validation/names.ts";
import { Path } from "#api/validation/path.ts";
import { validateParameters, validateProvider } from "./parameters.ts";

const RECLAIM_POLICIES = ["Delete", "Retain"];
const BINDING_MODES = ["Immediate", "WaitForFirstConsumer"];
const DEFAULT_ANNOTATIONS = [
  "storageclass.kubernetes.io/is-default-class",
  "storageclass.beta.kubernetes.io/is-default-class",
];
const TOPOLOGIES = Path.of("allowedTopologies");

export const storageClassKind = defineKind<StorageClass>({
  group: "storage.k8s.io",
  version: "v1",
  names: { kind: "StorageClass", plural: "storageclasses", short: ["sc"] },
  scope: "Cluster",
  schema: builtInSchema("storage.v1.StorageClass"),
  deletion: RETURNS_OBJECT,
  nameRule: nameIsDnsSubdomain,
  unconditionalUpdate: true,

  defaults(draft) {
    draft.reclaimPolicy ??= "Delete";
    draft.volumeBindingMode ??= "Immediate";
  },
  validate: (storageClass) => [
    ...validateFinalizers(storageClass.metadata),
    ...validateClass(storageClass),
  ],
  validateUpdate: (next, old) => [
    ...validateKubeMeta(next.metadata, { namespaced: false, nameRule: nameIsDnsSubdomain }),
    ...validateClass(next),
    ...validateKubeMetaUpdate(next, old),
    ...validateImmutableField(
      isEmptyCollection(next, "parameters") ? {} : next.parameters,
      old.parameters,
      Path.of("parameters"),
    ),
    ...(["provisioner", "reclaimPolicy", "volumeBindingMode"] as const).flatMap((field) =>
      validateImmutableField(next[field], old[field], Path.of(field)),
    ),
  ],
  warnings: ({ allowedTopologies = [] }) =>
    allowedTopologies.flatMap(({ matchLabelExpressions = [] }, i) =>
      matchLabelExpressions.flatMap(({ key }, j) => {
        const message = nodeLabelDeprecation(key);
        if (message === undefined) return [];
        const path = TOPOLOGIES.index(i).child("matchLabelExpressions").index(j).child("key");
        return [`${path}: ${message}`];
      }),
    ),

  columns: [
    {
      ...nameColumn,
      cell: ({ metadata }) => {
        const isDefault = DEFAULT_ANNOTATIONS.some((key) => metadata.annotations?.[key] === "true");
        return isDefault ? `${metadata.name} (default)` : (metadata.name ?? "");
      },
    },
    {
      name: "Provisioner",
      type: "string",
      describedBy: "storage.v1.StorageClass.provisioner",
      cell: ({ provisioner }) => provisioner,
    },
    {
      name: "ReclaimPolicy",
      type: "string",
      describedBy: "storage.v1.StorageClass.reclaimPolicy",
      cell: ({ reclaimPolicy }) => reclaimPolicy ?? "Delete",
    },
    {
      name: "VolumeBindingMode",
      type: "string",
      describedBy: "storage.v1.StorageClass.volumeBindingMode",
      cell: ({ volumeBindingMode }) => volumeBindingMode ?? "Immediate",
    },
    {
      name: "AllowVolumeExpansion",
      type: "string",
      describedBy: "storage.v1.StorageClass.allowVolumeExpansion",
      cell: ({ allowVolumeExpansion }) => allowVolumeExpansion ?? false,
    },
    ageColumn,
  ],
});

function validateClass(storageClass: StorageClass): FieldError[] {
  const { provisioner, parameters, reclaimPolicy, volumeBindingMode } = storageClass;
  const errors = [
    ...validateProvider(provisioner, Path.of("provisioner")),
    ...validateParameters(parameters, Path.of("parameters")),
  ];
  if (reclaimPolicy && !RECLAIM_POLICIES.includes(reclaimPolicy)) {
    errors.push(notSupported(Path.of("reclaimPolicy"), reclaimPolicy, RECLAIM_POLICIES));
  }
  const binding = Path.of("volumeBindingMode");
  if (volumeBindingMode === undefined) errors.push(required(binding, ""));
  else if (!BINDING_MODES.includes(volumeBindingMode)) {
    errors.push(notSupported(binding, volumeBindingMode, BINDING_MODES));
  }
  return [...errors, ...validateTopologies(storageClass.allowedTopologies ?? [])];
}

function validateTopologies(terms: readonly TopologySelectorTerm[]): FieldError[] {
  // Terms are compared with each one before them as sets of values by key, and before the first
  // there are as many empty ones as there are terms.
  const earlier = new Map([[EMPTY_TERM, terms.length]]);
  let duplicatesLeft = DUPLICATES_MAX;
  return terms.flatMap((term, i) => {
    const path = TOPOLOGIES.index(i);
    const identity = identityOf(term);
    const same = earlier.get(identity) ?? 0;
    earlier.set(identity, same + 1);
    const reported = Math.min(same, duplicatesLeft);
    duplicatesLeft -= reported;
    const fault = duplicate(path.child("matchLabelExpressions"), "");
    return [...validateTerm(term, path), ...new Array<FieldError>(reported).fill(fault)];
  });
}

/** Limit of errors: there is one for each pair of equal terms. */
const DUPLICATES_MAX = 50_000;
const EMPTY_TERM = identityOf({});

function identityOf({ matchLabelExpressions = [] }: TopologySelectorTerm): string {
  const byKey = new Map(
    matchLabelExpressions.map(({ key, values }) => [key, [...new Set(values)].sort()]),
  );
  return JSON.stringify([...byKey].sort(([a], [b]) => (a < b ? -1 : 1)));
}

function validateTerm({ matchLabelExpressions = [] }: TopologySelectorTerm, path: Path) {
  const keys = new Set<string>();
  return matchLabelExpressions.flatMap(({ key, values }, i) => {
    const at = path.child("matchLabelExpressions").index(i);
    const errors: FieldError[] = [];
    const list = values ?? [];
    if (list.length === 0) errors.push(required(at.child("values"), ""));
    for (const [j, value] of list.entries()) {
      if (list.indexOf(value) < j) errors.push(duplicate(at.child("values").index(j), value));
    }
    errors.push(...validateLabelName(key, at.child("key")));
    if (keys.has(key)) errors.push(duplicate(at.child("key"), key));
    keys.add(key);
    return errors;
  });
}
