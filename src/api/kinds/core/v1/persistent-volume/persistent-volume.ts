/** v1 PersistentVolume. */

import { ageColumn, nameColumn, UNSET } from "#api/columns.ts";
import { RETURNS_OBJECT } from "#api/deletion-rules.ts";
import { keep } from "#api/draft.ts";
import type {
  NodeSelectorRequirement,
  PersistentVolume,
  VolumeNodeAffinity,
} from "#api/generated/core.v1.ts";
import { type Draft, defineKind } from "#api/kind.ts";
import { timeFromMs } from "#api/meta/time.ts";
import { builtInSchema } from "#api/schema/from-facts.ts";
import { type FieldError, forbidden, invalid, required } from "#api/validation/field-error.ts";
import { semanticEqual, validateImmutableField } from "#api/validation/immutable.ts";
import { internalForm } from "#api/validation/internal-form.ts";
import {
  METADATA,
  validateFinalizers,
  validateKubeMeta,
  validateKubeMetaUpdate,
} from "#api/validation/kube-meta.ts";
import { isLabelValue, nameIsDnsSubdomain } from "#api/validation/names.ts";
import { Path } from "#api/validation/path.ts";
import { internalDiff } from "../pod/internal-diff.ts";
import { nodeTermWarnings } from "../pod/placement/placement-warnings.ts";
import { accessModesText, STORAGE_CLASS_ANNOTATION } from "./access-modes.ts";
import { defaultVolumeSource, sourceOf } from "./sources.ts";
import { validateVolumeSpec } from "./spec.ts";

const MOUNT_OPTIONS_ANNOTATION = "volume.beta.kubernetes.io/mount-options";
const SPEC = Path.of("spec");
const META = { namespaced: false, nameRule: nameIsDnsSubdomain };

/** Sources that take mount options from the annotation. */
const MOUNT_OPTION_SOURCES = [
  "gcePersistentDisk",
  "awsElasticBlockStore",
  "glusterfs",
  "nfs",
  "rbd",
  "quobyte",
  "iscsi",
  "cinder",
  "cephfs",
  "azureFile",
  "vsphereVolume",
  "azureDisk",
  "photonPersistentDisk",
] as const;

const DEPRECATED_SOURCES = [
  ["cephfs", "cephfs", "v1.28", "v1.31"],
  ["photonPersistentDisk", "photonPersistentDisk", "v1.11", "v1.16"],
  ["scaleIO", "scaleIO", "v1.16", "v1.22"],
  ["storageos", "storageOS", "v1.22", "v1.25"],
  ["glusterfs", "glusterfs", "v1.25", "v1.26"],
  ["rbd", "rbd", "v1.28", "v1.31"],
] as const;

/** Labels that a volume may be moved to from their beta names. */
const STABLE_LABELS: Readonly<Record<string, string>> = {
  "failure-domain.beta.kubernetes.io/zone": "topology.kubernetes.io/zone",
  "failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
  "beta.kubernetes.io/os": "kubernetes.io/os",
  "beta.kubernetes.io/arch": "kubernetes.io/arch",
  "beta.kubernetes.io/instance-type": "node.kubernetes.io/instance-type",
};

export const persistentVolumeKind = defineKind<PersistentVolume>({
  group: "",
  version: "v1",
  names: { kind: "PersistentVolume", plural: "persistentvolumes", short: ["pv"] },
  scope: "Cluster",
  schema: builtInSchema("core.v1.PersistentVolume"),
  deletion: RETURNS_OBJECT,
  nameRule: nameIsDnsSubdomain,
  unconditionalUpdate: true,

  defaults(draft) {
    const { spec } = draft;
    draft.status.phase ??= "Pending";
    spec.persistentVolumeReclaimPolicy ??= "Retain";
    spec.volumeMode ??= "Filesystem";
    defaultVolumeSource(spec);
  },
  prepareCreate(draft, { nowMs }) {
    draft.status = { phase: "Pending", lastPhaseTransitionTime: timeFromMs(nowMs) };
  },
  validate: (volume) => [
    ...validateFinalizers(volume.metadata),
    ...validateSpec(volume, undefined),
    ...validateMountOptions(volume),
  ],
  prepareUpdate(draft, old) {
    draft.status = keep(old.status);
  },
  validateUpdate: (next, old) => [
    ...validateKubeMeta(next.metadata, META),
    ...validateSpec(next, old),
    ...validateMountOptions(next),
    ...validateKubeMeta(next.metadata, META),
    ...validateSpec(next, old),
    ...validateChange(next, old),
  ],
  warnings,

  subresources: {
    status: {
      prepareUpdate(draft, old, { nowMs }) {
        draft.spec = keep(old.spec);
        stampPhase(draft, old, nowMs);
      },
      validateUpdate: (next, old) => [
        ...validateKubeMetaUpdate(next, old),
        ...(next.metadata.resourceVersion ? [] : [required(Path.of("resourceVersion"), "")]),
      ],
    },
  },

  columns: [
    nameColumn,
    {
      name: "Capacity",
      type: "string",
      describedBy: "core.v1.PersistentVolumeSpec.capacity",
      cell: ({ spec }) => spec.capacity?.storage ?? "0",
    },
    {
      name: "Access Modes",
      type: "string",
      describedBy: "core.v1.PersistentVolumeSpec.accessModes",
      cell: ({ spec }) => accessModesText(spec.accessModes),
    },
    {
      name: "Reclaim Policy",
      type: "string",
      describedBy: "core.v1.PersistentVolumeSpec.persistentVolumeReclaimPolicy",
      cell: ({ spec }) => spec.persistentVolumeReclaimPolicy ?? "",
    },
    {
      name: "Status",
      type: "string",
      describedBy: "core.v1.PersistentVolumeStatus.phase",
      cell: ({ metadata, status }) =>
        metadata.deletionTimestamp === undefined ? (status.phase ?? "") : "Terminating",
    },
    {
      name: "Claim",
      type: "string",
      describedBy: "core.v1.PersistentVolumeSpec.claimRef",
      cell: ({ spec: { claimRef } }) =>
        claimRef === undefined ? "" : `${claimRef.namespace ?? ""}/${claimRef.name ?? ""}`,
    },
    {
      name: "StorageClass",
      type: "string",
      description: "StorageClass of the pv",
      cell: ({ metadata, spec }) =>
        metadata.annotations?.[STORAGE_CLASS_ANNOTATION] ?? spec.storageClassName ?? "",
    },
    {
      name: "VolumeAttributesClass",
      type: "string",
      description: "VolumeAttributesClass of the pv",
      cell: ({ spec }) => spec.volumeAttributesClassName ?? UNSET,
    },
    {
      name: "Reason",
      type: "string",
      describedBy: "core.v1.PersistentVolumeStatus.reason",
      cell: ({ status }) => status.reason ?? "",
    },
    ageColumn,
    {
      name: "VolumeMode",
      type: "string",
      priority: 1,
      describedBy: "core.v1.PersistentVolumeSpec.volumeMode",
      cell: ({ spec }) => spec.volumeMode ?? UNSET,
    },
  ],
});

function validateSpec({ metadata, spec }: PersistentVolume, old: PersistentVolume | undefined) {
  const allowInvalidLabelValue = (old?.spec.nodeAffinity?.required?.nodeSelectorTerms ?? []).some(
    ({ matchExpressions = [] }) =>
      matchExpressions.some(({ values = [] }) => values.some((v) => isLabelValue(v).length > 0)),
  );
  const options = { volumeName: metadata.name ?? "", allowInvalidLabelValue };
  return validateVolumeSpec(spec, options, SPEC);
}

function validateMountOptions({ metadata, spec }: PersistentVolume): FieldError[] {
  if (metadata.annotations?.[MOUNT_OPTIONS_ANNOTATION] === undefined) return [];
  if (MOUNT_OPTION_SOURCES.some((source) => spec[source] !== undefined)) return [];
  const path = METADATA.child("annotations", MOUNT_OPTIONS_ANNOTATION);
  return [forbidden(path, "may not specify mount options for this volume type")];
}

/** The source stays what it is, as does what claims rely on. */
function validateChange(next: PersistentVolume, old: PersistentVolume): FieldError[] {
  const errors: FieldError[] = [];
  const [now, before] = [withoutNewExpandSecret(next, old), sourceOf(old.spec)];
  if (!semanticEqual(now, before)) {
    const diff = internalDiff("core.v1.PersistentVolumeSource", before, now);
    const detail = `spec.persistentvolumesource is immutable after creation\n${diff}`;
    errors.push(forbidden(SPEC.child("persistentvolumesource"), detail));
  }
  errors.push(
    ...validateImmutableField(next.spec.volumeMode, old.spec.volumeMode, Path.of("volumeMode")),
  );
  errors.push(...validateAffinityChange(next.spec.nodeAffinity, old.spec.nodeAffinity));
  const className = "volumeAttributesClassName";
  if (old.spec[className] !== undefined && next.spec[className] === undefined) {
    const detail = "update from non-nil value to nil is forbidden";
    errors.push(forbidden(SPEC.child(className), detail));
  }
  return errors;
}

/** The secret for expansion may be added later. */
function withoutNewExpandSecret({ spec }: PersistentVolume, { spec: old }: PersistentVolume) {
  const source = sourceOf(spec);
  if (source.csi?.controllerExpandSecretRef === undefined || old.csi === undefined) return source;
  if (old.csi.controllerExpandSecretRef !== undefined) return source;
  const { controllerExpandSecretRef: _, ...csi } = source.csi;
  return { ...source, csi };
}

function validateAffinityChange(
  next: VolumeNodeAffinity | undefined,
  old: VolumeNodeAffinity | undefined,
): FieldError[] {
  if (old === undefined || semanticEqual(next, withStableLabels(old, next))) return [];
  const shown = internalForm("*core.v1.VolumeNodeAffinity", next);
  const detail = "field is immutable, except for updating from beta label to GA";
  return [invalid(Path.of("nodeAffinity"), shown, detail)];
}

/** The old affinity with those labels renamed that the new one has renamed. */
function withStableLabels(
  old: VolumeNodeAffinity,
  next: VolumeNodeAffinity | undefined,
): VolumeNodeAffinity {
  const terms = old.required?.nodeSelectorTerms?.map((term, i) => {
    const now = next?.required?.nodeSelectorTerms?.[i];
    return {
      matchExpressions: renamed(term.matchExpressions, now?.matchExpressions),
      matchFields: renamed(term.matchFields, now?.matchFields),
    };
  });
  return terms === undefined ? old : { required: { nodeSelectorTerms: terms } };
}

function renamed(
  old: readonly NodeSelectorRequirement[] = [],
  next: readonly NodeSelectorRequirement[] = [],
): NodeSelectorRequirement[] {
  return old.map((requirement, i) => {
    const stable = STABLE_LABELS[requirement.key] ?? ""; // whatever has none may lose its key
    return next[i]?.key === stable ? { ...requirement, key: stable } : requirement;
  });
}

/** Sets lastPhaseTransitionTime when the phase changes. */
function stampPhase({ status }: Draft<PersistentVolume>, old: PersistentVolume, nowMs: number) {
  const before = old.status.lastPhaseTransitionTime;
  const given = status.lastPhaseTransitionTime;
  if (status.phase === old.status.phase) {
    if (given === undefined && before !== undefined) status.lastPhaseTransitionTime = before;
  } else if (given === undefined || given === before) {
    status.lastPhaseTransitionTime = timeFromMs(nowMs);
  }
}

function warnings({ metadata, spec }: PersistentVolume): string[] {
  const found: string[] = [];
  const deprecated = {
    [STORAGE_CLASS_ANNOTATION]: 'deprecated since v1.8; use "storageClassName" attribute instead',
    [MOUNT_OPTIONS_ANNOTATION]: 'deprecated since v1.31; use "mountOptions" attribute instead',
  };
  for (const [key, message] of Object.entries(deprecated)) {
    if (metadata.annotations?.[key] === undefined) continue;
    found.push(`${METADATA.child("annotations").key(key)}: ${message}`);
  }
  if (spec.persistentVolumeReclaimPolicy === "Recycle") {
    found.push(
      "spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead, the recommended approach is to use dynamic provisioning.",
    );
  }
  const terms = SPEC.child("nodeAffinity", "required", "nodeSelectorTerms");
  for (const [i, term] of (spec.nodeAffinity?.required?.nodeSelectorTerms ?? []).entries()) {
    found.push(...nodeTermWarnings(term, false, terms.index(i)));
  }
  for (const [field, name, since, gone] of DEPRECATED_SOURCES) {
    if (spec[field] === undefined) continue;
    found.push(`${SPEC.child(name)}: deprecated in ${since}, non-functional in ${gone}+`);
  }
  return found;
}
