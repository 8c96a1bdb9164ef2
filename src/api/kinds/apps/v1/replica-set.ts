/** apps/v1 ReplicaSet: as many pods of one template as are asked for. */

import type { ReplicaSet } from "#api/generated/apps.v1.ts";
import { defineKind } from "#api/kind.ts";
import { selectorColumn } from "#api/kinds/core/v1/container-columns.ts";
import { defaultPodTemplate } from "#api/kinds/core/v1/pod/defaults.ts";
import { templateWarnings } from "#api/kinds/core/v1/pod/warnings.ts";
import {
  type TemplateRules,
  templateRules,
} from "#api/kinds/core/v1/workload/pod-template-validation.ts";
import {
  prepareReplicasCreate,
  prepareReplicasUpdate,
  REPLICA_SCALE,
  replicaColumns,
  replicaStatus,
} from "#api/kinds/core/v1/workload/replicas.ts";
import { podNameWarnings, validateCounts } from "#api/kinds/core/v1/workload/workload.ts";
import { builtInSchema } from "#api/schema/from-facts.ts";
import type { FieldError } from "#api/validation/field-error.ts";
import { validateImmutableField } from "#api/validation/immutable.ts";
import { validateFinalizers, validateKubeMetaUpdate } from "#api/validation/kube-meta.ts";
import { nameIsDnsSubdomain } from "#api/validation/names.ts";
import { Path } from "#api/validation/path.ts";
import { validateReplicaTemplate } from "./replica-template.ts";

const SPEC = Path.of("spec");

export const replicaSetKind = defineKind<ReplicaSet>({
  group: "apps",
  version: "v1",
  names: { kind: "ReplicaSet", plural: "replicasets", short: ["rs"], categories: ["all"] },
  scope: "Namespaced",
  schema: builtInSchema("apps.v1.ReplicaSet"),
  nameRule: nameIsDnsSubdomain,
  unconditionalUpdate: true,
  defaults: ({ spec }) => {
    spec.replicas ??= 1;
    defaultPodTemplate(spec.template);
  },
  prepareCreate: prepareReplicasCreate,
  validate: (set, context) => [
    ...validateFinalizers(set.metadata),
    ...validateSpec(set, templateRules(context)),
  ],
  prepareUpdate: prepareReplicasUpdate,
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
  subresources: { status: replicaStatus("terminatingReplicas") },
  scale: REPLICA_SCALE,
  columns: [
    ...replicaColumns<ReplicaSet>("apps.v1.ReplicaSet"),
    selectorColumn("apps.v1.ReplicaSetSpec.selector", ({ spec }) => spec.selector ?? undefined),
  ],
});

function validateSpec({ spec }: ReplicaSet, rules: TemplateRules): FieldError[] {
  return [
    ...validateCounts(spec, ["replicas", "minReadySeconds"], SPEC),
    ...validateReplicaTemplate(spec, rules, SPEC),
  ];
}
