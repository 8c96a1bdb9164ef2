/** apps/v1 ReplicaSet: as many pods of one template as are asked for. */
import { ageColumn, nameColumn } from "#api/columns.ts";
import { containerColumns, selectorColumn } from "#api/core/v1/container-columns.ts";
import { defaultPodTemplate } from "#api/core/v1/pod/defaults.ts";
import { dropDisabledTemplateFields } from "#api/core/v1/pod/drop-disabled.ts";
import { templateWarnings } from "#api/core/v1/pod/warnings.ts";
import { type TemplateRules, templateRules } from "#api/core/v1/pod-template-validation.ts";
import {
  countChange,
  podNameWarnings,
  specsDiffer,
  validateAtMost,
  validateCounts,
} from "#api/core/v1/workload.ts";
import { keep } from "#api/draft.ts";
import type { ReplicaSet } from "#api/generated/apps.v1.ts";
import { defineKind } from "#api/kind.ts";
import type { FieldError } from "#api/validation/field-error.ts";
import { validateImmutableField } from "#api/validation/immutable.ts";
import { validateFinalizers, validateKubeMetaUpdate } from "#api/validation/kube-meta.ts";
import { nameIsDnsSubdomain } from "#api/validation/names.ts";
import { Path } from "#api/validation/path.ts";
import { validateReplicaTemplate } from "./replica-template.ts";

const SPEC = Path.of("spec");
const STATUS = Path.of("status");

export const replicaSetKind = defineKind<ReplicaSet>({
  group: "apps",
  version: "v1",
  names: { kind: "ReplicaSet", plural: "replicasets", short: ["rs"], categories: ["all"] },
  scope: "Namespaced",
  type: "apps.v1.ReplicaSet",
  nameRule: nameIsDnsSubdomain,
  unconditionalUpdate: true,
  defaults: ({ spec }) => {
    spec.replicas ??= 1;
    defaultPodTemplate(spec.template);
  },
  prepareCreate: (draft) => {
    draft.status = { replicas: 0 };
    draft.metadata.generation = 1;
    dropDisabledTemplateFields(draft.spec.template);
  },
  validate: (set, context) => [
    ...validateFinalizers(set.metadata),
    ...validateSpec(set, templateRules(context)),
  ],
  prepareUpdate: (draft, old) => {
    draft.status = keep(old.status);
    dropDisabledTemplateFields(draft.spec.template, old.spec.template);
    countChange(draft, old, specsDiffer(draft.spec, old.spec));
  },
  validateUpdate: (set, old, context) => [
    ...validateKubeMetaUpdate(set, old),
    ...validateSpec(set, templateRules(context, old.spec.template)),
    ...validateImmutableField(set.spec.selector, old.spec.selector, SPEC.child("selector")),
  ],
  warnings: (set, old) => {
    if (old !== undefined && set.metadata.generation === old.metadata.generation) return [];
    const warnings = templateWarnings(set.spec.template, SPEC.child("template"));
    return old === undefined ? [...podNameWarnings(set), ...warnings] : warnings;
  },
  subresources: {
    status: {
      prepareUpdate: (draft, old) => {
        draft.spec = keep(old.spec);
      },
      validateUpdate: validateStatusUpdate,
    },
  },
  scale: {
    specReplicas: ".spec.replicas",
    statusReplicas: ".status.replicas",
    selector: ".spec.selector",
  },
  columns: [
    nameColumn,
    {
      name: "Desired",
      type: "integer",
      describedBy: "apps.v1.ReplicaSetSpec.replicas",
      cell: ({ spec }) => spec.replicas ?? 0,
    },
    {
      name: "Current",
      type: "integer",
      describedBy: "apps.v1.ReplicaSetStatus.replicas",
      cell: ({ status }) => status.replicas,
    },
    {
      name: "Ready",
      type: "integer",
      describedBy: "apps.v1.ReplicaSetStatus.readyReplicas",
      cell: ({ status }) => status.readyReplicas ?? 0,
    },
    ageColumn,
    ...containerColumns<ReplicaSet>(({ spec }) => spec.template),
    selectorColumn("apps.v1.ReplicaSetSpec.selector", ({ spec }) => spec.selector ?? undefined),
  ],
});

function validateSpec({ spec }: ReplicaSet, rules: TemplateRules): FieldError[] {
  return [
    ...validateCounts(spec, ["replicas", "minReadySeconds"], SPEC),
    ...validateReplicaTemplate(spec, rules, SPEC),
  ];
}

function validateStatusUpdate(set: ReplicaSet, old: ReplicaSet): FieldError[] {
  const { status } = set;
  return [
    ...validateKubeMetaUpdate(set, old),
    ...validateCounts(
      status,
      [
        "replicas",
        "fullyLabeledReplicas",
        "readyReplicas",
        "availableReplicas",
        "observedGeneration",
        "terminatingReplicas",
      ],
      STATUS,
    ),
    ...validateAtMost(
      status,
      ["fullyLabeledReplicas", "readyReplicas", "availableReplicas"],
      "replicas",
      "cannot be greater than status.replicas",
      STATUS,
    ),
    ...validateAtMost(
      status,
      ["availableReplicas"],
      "readyReplicas",
      "cannot be greater than readyReplicas",
      STATUS,
    ),
  ];
}
