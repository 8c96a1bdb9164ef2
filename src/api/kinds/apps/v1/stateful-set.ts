/** apps/v1 StatefulSet: pods with names of their own, in order, each with its own volumes. */

import { ageColumn, nameColumn } from "#api/columns.ts";
import { keep } from "#api/draft.ts";
import type { StatefulSet } from "#api/generated/apps.v1.ts";
import type { PersistentVolumeClaim } from "#api/generated/core.v1.ts";
import { type Draft, defineKind } from "#api/kind.ts";
import { containerColumns } from "#api/kinds/core/v1/container-columns.ts";
import { defaultPodTemplate } from "#api/kinds/core/v1/pod/defaults.ts";
import { dropDisabledTemplateFields } from "#api/kinds/core/v1/pod/drop-disabled.ts";
import { claimSpecWarnings } from "#api/kinds/core/v1/pod/volumes/claim-template.ts";
import { templateWarnings } from "#api/kinds/core/v1/pod/warnings.ts";
import { roundToMillis } from "#api/kinds/core/v1/resources/round-resources.ts";
import { templateRules } from "#api/kinds/core/v1/workload/pod-template-validation.ts";
import { REPLICA_SCALE, readyColumn } from "#api/kinds/core/v1/workload/replicas.ts";
import { countChange, specsDiffer } from "#api/kinds/core/v1/workload/workload.ts";
import { builtInSchema } from "#api/schema/from-facts.ts";
import { validateFinalizers } from "#api/validation/kube-meta.ts";
import { nameIsDnsLabel } from "#api/validation/names.ts";
import { Path } from "#api/validation/path.ts";
import {
  validateStatefulSetSpec,
  validateStatefulSetStatus,
  validateStatefulSetUpdate,
} from "./stateful-set-rules.ts";

const SPEC = Path.of("spec");

export const statefulSetKind = defineKind<StatefulSet>({
  group: "apps",
  version: "v1",
  names: { kind: "StatefulSet", plural: "statefulsets", short: ["sts"], categories: ["all"] },
  scope: "Namespaced",
  schema: builtInSchema("apps.v1.StatefulSet"),
  nameRule: nameIsDnsLabel,
  unconditionalUpdate: true,
  defaults,
  prepareCreate: (draft, context) => {
    draft.status = { replicas: 0, availableReplicas: 0 };
    draft.metadata.generation = 1;
    dropMaxUnavailable(draft);
    dropDisabledTemplateFields(draft.spec.template, context);
  },
  validate: ({ metadata, spec }, context) => [
    ...validateFinalizers(metadata),
    ...validateStatefulSetSpec(spec, templateRules(context), SPEC, {}),
  ],
  prepareUpdate: (draft, old, context) => {
    draft.status = keep(old.status);
    dropMaxUnavailable(draft, old);
    dropDisabledTemplateFields(draft.spec.template, context, old.spec.template);
    countChange(draft, old, specsDiffer(draft.spec, old.spec));
  },
  validateUpdate: validateStatefulSetUpdate,
  warnings: setWarnings,
  subresources: {
    status: {
      prepareUpdate: (draft, old) => {
        draft.spec = keep(old.spec);
      },
      validateUpdate: validateStatefulSetStatus,
    },
  },
  scale: REPLICA_SCALE,
  columns: [
    nameColumn,
    readyColumn,
    ageColumn,
    ...containerColumns<StatefulSet>(({ spec }) => spec.template),
  ],
});

function defaults({ spec }: Draft<StatefulSet>): void {
  spec.podManagementPolicy ||= "OrderedReady";
  const { updateStrategy } = spec;
  if (!updateStrategy.type) {
    updateStrategy.type = "RollingUpdate";
    updateStrategy.rollingUpdate ??= {};
  }
  if (updateStrategy.type === "RollingUpdate" && updateStrategy.rollingUpdate !== undefined) {
    updateStrategy.rollingUpdate.partition ??= 0;
  }
  spec.persistentVolumeClaimRetentionPolicy ??= {};
  spec.persistentVolumeClaimRetentionPolicy.whenDeleted ||= "Retain";
  spec.persistentVolumeClaimRetentionPolicy.whenScaled ||= "Retain";
  spec.replicas ??= 1;
  spec.revisionHistoryLimit ??= 10;
  defaultPodTemplate(spec.template);
  for (const claim of spec.volumeClaimTemplates ?? []) defaultClaim(claim);
}

function defaultClaim(claim: Draft<PersistentVolumeClaim>): void {
  claim.apiVersion = "v1";
  claim.kind = "PersistentVolumeClaim";
  claim.status.phase ||= "Pending";
  claim.spec.volumeMode ??= "Filesystem";
  roundToMillis(claim.spec.resources?.limits);
  roundToMillis(claim.spec.resources?.requests);
  roundToMillis(claim.status.capacity);
  roundToMillis(claim.status.allocatedResources);
}

/** A feature that is off. */
function dropMaxUnavailable({ spec }: Draft<StatefulSet>, old?: StatefulSet): void {
  if (old?.spec.updateStrategy.rollingUpdate?.maxUnavailable !== undefined) return;
  delete spec.updateStrategy.rollingUpdate?.maxUnavailable;
}

function setWarnings({ metadata, spec }: StatefulSet, old: StatefulSet | undefined): string[] {
  const isCreate = old === undefined;
  const warnings: string[] = [];
  if (isCreate || metadata.generation !== old.metadata.generation) {
    warnings.push(...templateWarnings(spec.template, SPEC.child("template")));
  }
  for (const [i, claim] of (spec.volumeClaimTemplates ?? []).entries()) {
    const at = SPEC.child("volumeClaimTemplates").index(i);
    warnings.push(...claimSpecWarnings(claim.spec, isCreate ? at : at.child("Spec")));
  }
  if ((spec.revisionHistoryLimit ?? 0) < 0) {
    warnings.push(
      "spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is recommended",
    );
  }
  return warnings;
}
