/** v1 PersistentVolumeClaim. */

import { ageColumn, nameColumn, UNSET } from "#api/columns.ts";
import { RETURNS_OBJECT } from "#api/deletion-rules.ts";
import { keep } from "#api/draft.ts";
import type { PersistentVolumeClaim } from "#api/generated/core.v1.ts";
import { defineKind } from "#api/kind.ts";
import { claimMeasure } from "#api/quota/claim-measure.ts";
import { builtInSchema } from "#api/schema/from-facts.ts";
import { required } from "#api/validation/field-error.ts";
import {
  METADATA,
  validateFinalizers,
  validateKubeMeta,
  validateKubeMetaUpdate,
} from "#api/validation/kube-meta.ts";
import { validateLabelSelector } from "#api/validation/labels.ts";
import { nameIsDnsSubdomain } from "#api/validation/names.ts";
import { Path } from "#api/validation/path.ts";
import { accessModesText, STORAGE_CLASS_ANNOTATION } from "../persistent-volume/access-modes.ts";
import { claimSpecWarnings } from "../pod/volumes/claim-template.ts";
import { roundToMillis } from "../resources/round-resources.ts";
import { prepareDataSources } from "./data-sources.ts";
import { type ClaimSpecOptions, validateClaimSpec } from "./spec.ts";
import { validateClaimChange, validateClaimStatus } from "./update.ts";

const SPEC = Path.of("spec");

export const persistentVolumeClaimKind = defineKind<PersistentVolumeClaim>({
  group: "",
  version: "v1",
  names: { kind: "PersistentVolumeClaim", plural: "persistentvolumeclaims", short: ["pvc"] },
  scope: "Namespaced",
  schema: builtInSchema("core.v1.PersistentVolumeClaim"),
  quota: claimMeasure,
  deletion: RETURNS_OBJECT,
  nameRule: nameIsDnsSubdomain,
  unconditionalUpdate: true,

  defaults({ spec, status }) {
    status.phase ??= "Pending";
    spec.volumeMode ??= "Filesystem";
    for (const list of [
      spec.resources.limits,
      spec.resources.requests,
      status.capacity,
      status.allocatedResources,
    ]) {
      roundToMillis(list);
    }
  },
  prepareCreate(draft) {
    draft.status = { phase: "Pending" };
    prepareDataSources(draft.spec, undefined);
  },
  validate: ({ metadata, spec }) => [
    ...validateFinalizers(metadata),
    ...validateClaimSpec(spec, {}, SPEC),
  ],
  prepareUpdate(draft, old) {
    draft.status = keep(old.status);
    prepareDataSources(draft.spec, old.spec);
  },
  validateUpdate: (next, old) => [
    ...validateKubeMetaUpdate(next, old),
    ...validateKubeMeta(next.metadata, { namespaced: true, nameRule: nameIsDnsSubdomain }),
    ...validateClaimSpec(next.spec, toleratedFrom(old), SPEC),
    ...validateClaimChange(next, old),
  ],
  warnings: ({ metadata, spec }) => [
    ...(metadata.annotations?.[STORAGE_CLASS_ANNOTATION] === undefined
      ? []
      : [
          `${METADATA.child("annotations").key(STORAGE_CLASS_ANNOTATION)}: deprecated since v1.8; use "storageClassName" attribute instead`,
        ]),
    ...claimSpecWarnings(spec, SPEC),
  ],

  subresources: {
    status: {
      prepareUpdate: (draft, old) => {
        draft.spec = keep(old.spec);
      },
      validateUpdate: (next, old) => [
        ...validateKubeMetaUpdate(next, old),
        ...(next.metadata.resourceVersion ? [] : [required(Path.of("resourceVersion"), "")]),
        ...validateClaimStatus(next),
      ],
    },
  },

  columns: [
    nameColumn,
    {
      name: "Status",
      type: "string",
      describedBy: "core.v1.PersistentVolumeClaimStatus.phase",
      cell: ({ metadata, status }) =>
        metadata.deletionTimestamp === undefined ? (status.phase ?? "") : "Terminating",
    },
    {
      name: "Volume",
      type: "string",
      describedBy: "core.v1.PersistentVolumeClaimSpec.volumeName",
      cell: ({ spec }) => spec.volumeName ?? "",
    },
    {
      name: "Capacity",
      type: "string",
      describedBy: "core.v1.PersistentVolumeClaimStatus.capacity",
      cell: ({ spec, status }) => (spec.volumeName ? (status.capacity?.storage ?? "0") : ""),
    },
    {
      name: "Access Modes",
      type: "string",
      describedBy: "core.v1.PersistentVolumeClaimStatus.accessModes",
      cell: ({ spec, status }) => (spec.volumeName ? accessModesText(status.accessModes) : ""),
    },
    {
      name: "StorageClass",
      type: "string",
      description: "StorageClass of the pvc",
      cell: ({ metadata, spec }) =>
        metadata.annotations?.[STORAGE_CLASS_ANNOTATION] ?? spec.storageClassName ?? "",
    },
    {
      name: "VolumeAttributesClass",
      type: "string",
      description: "VolumeAttributesClass of the pvc",
      cell: ({ spec }) => spec.volumeAttributesClassName ?? UNSET,
    },
    ageColumn,
    {
      name: "VolumeMode",
      type: "string",
      priority: 1,
      describedBy: "core.v1.PersistentVolumeClaimSpec.volumeMode",
      cell: ({ spec }) => spec.volumeMode ?? UNSET,
    },
  ],
});

function toleratedFrom({ spec }: PersistentVolumeClaim): ClaimSpecOptions {
  const { dataSource, dataSourceRef, selector } = spec;
  return {
    allowInvalidApiGroup:
      (dataSource?.apiGroup ?? null) !== null || (dataSourceRef?.apiGroup ?? null) !== null,
    allowInvalidLabelValue: validateLabelSelector(selector, {}, SPEC).length > 0,
  };
}
