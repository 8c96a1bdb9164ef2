/** apps/v1 Deployment: replicas of a pod, replaced step by step when the template changes. */

import { fieldSet } from "#api/apply/field-set.ts";
import { ageColumn, nameColumn } from "#api/columns.ts";
import { assign, keep } from "#api/draft.ts";
import type { Deployment, DeploymentSpec, DeploymentStrategy } from "#api/generated/apps.v1.ts";
import { type Draft, defineKind, type RuleContext } from "#api/kind.ts";
import { containerColumns } from "#api/kinds/core/v1/container-columns.ts";
import { defaultPodTemplate } from "#api/kinds/core/v1/pod/defaults.ts";
import { dropDisabledTemplateFields } from "#api/kinds/core/v1/pod/drop-disabled.ts";
import { templateWarnings } from "#api/kinds/core/v1/pod/warnings.ts";
import {
  type TemplateRules,
  templateRules,
} from "#api/kinds/core/v1/workload/pod-template-validation.ts";
import { REPLICA_SCALE, readyColumn } from "#api/kinds/core/v1/workload/replicas.ts";
import {
  countChange,
  podNameWarnings,
  specsDiffer,
  validateAtMost,
  validateCollisionCount,
  validateCounts,
} from "#api/kinds/core/v1/workload/workload.ts";
import { formatSelector, selectorOf } from "#api/meta/label-selector.ts";
import { builtInSchema } from "#api/schema/from-facts.ts";
import { type FieldError, forbidden, invalid, notSupported } from "#api/validation/field-error.ts";
import { semanticEqual, validateImmutableField } from "#api/validation/immutable.ts";
import { validateAtMost100Percent, validateIntOrPercent } from "#api/validation/int-or-percent.ts";
import { internalForm } from "#api/validation/internal-form.ts";
import { validateFinalizers, validateKubeMetaUpdate } from "#api/validation/kube-meta.ts";
import { nameIsDnsSubdomain } from "#api/validation/names.ts";
import { Path } from "#api/validation/path.ts";
import { validateReplicaTemplate } from "./replica-template.ts";
import { intOrPercentValue } from "./rolling-update.ts";

const SPEC = Path.of("spec");
const STATUS = Path.of("status");
const ROLLBACK = "deprecated.deployment.rollback.rollbackTo";

export const deploymentKind = defineKind<Deployment>({
  group: "apps",
  version: "v1",
  names: { kind: "Deployment", plural: "deployments", short: ["deploy"], categories: ["all"] },
  scope: "Namespaced",
  schema: builtInSchema("apps.v1.Deployment"),
  resetFields: { status: { except: fieldSet(["spec"], ["metadata", "labels"]) } },
  nameRule: nameIsDnsSubdomain,
  unconditionalUpdate: true,
  defaults,
  prepareCreate: (draft, context) => {
    draft.status = {};
    draft.metadata.generation = 1;
    dropDisabledTemplateFields(draft.spec.template, context);
  },
  validate: (deployment, context) => [
    ...validateFinalizers(deployment.metadata),
    ...validateSpec(deployment, templateRules(context)),
  ],
  prepareUpdate,
  validateUpdate: (deployment, old, context) => [
    ...validateKubeMetaUpdate(deployment, old),
    ...validateSpec(deployment, templateRules(context, old.spec.template)),
    ...validateImmutableField(deployment.spec.selector, old.spec.selector, SPEC.child("selector")),
  ],
  warnings: (deployment, old) => {
    if (old !== undefined && deployment.metadata.generation === old.metadata.generation) return [];
    const warnings = templateWarnings(deployment.spec.template, SPEC.child("template"));
    return old === undefined ? [...podNameWarnings(deployment), ...warnings] : warnings;
  },
  subresources: {
    status: {
      prepareUpdate: (draft, old) => {
        draft.spec = keep(old.spec);
        assign(draft.metadata, "labels", keep(old.metadata.labels));
      },
      validateUpdate: validateStatusUpdate,
    },
  },
  scale: REPLICA_SCALE,
  columns: [
    nameColumn,
    readyColumn,
    {
      name: "Up-to-date",
      type: "string",
      describedBy: "apps.v1.DeploymentStatus.updatedReplicas",
      cell: ({ status }) => status.updatedReplicas ?? 0,
    },
    {
      name: "Available",
      type: "string",
      describedBy: "apps.v1.DeploymentStatus.availableReplicas",
      cell: ({ status }) => status.availableReplicas ?? 0,
    },
    ageColumn,
    ...containerColumns<Deployment>(({ spec }) => spec.template),
    {
      name: "Selector",
      type: "string",
      describedBy: "apps.v1.DeploymentSpec.selector",
      priority: 1,
      cell: ({ spec }) => {
        const selector = selectorOf(spec.selector ?? undefined);
        return selector.ok ? formatSelector(selector.value) : "<invalid>";
      },
    },
  ],
});

function defaults({ metadata, spec }: Draft<Deployment>): void {
  spec.replicas ??= 1;
  spec.strategy.type ||= "RollingUpdate";
  if (spec.strategy.type === "RollingUpdate") {
    spec.strategy.rollingUpdate ??= {};
    spec.strategy.rollingUpdate.maxUnavailable ??= "25%";
    spec.strategy.rollingUpdate.maxSurge ??= "25%";
  }
  spec.revisionHistoryLimit ??= 10;
  spec.progressDeadlineSeconds ??= 600;
  if (metadata.annotations?.[ROLLBACK] === "") delete metadata.annotations[ROLLBACK];
  defaultPodTemplate(spec.template);
}

/** Annotations count too, since they are copied to the ReplicaSets. */
function prepareUpdate(draft: Draft<Deployment>, old: Deployment, context: RuleContext): void {
  draft.status = keep(old.status);
  dropDisabledTemplateFields(draft.spec.template, context, old.spec.template);
  const { annotations } = draft.metadata;
  const changed =
    specsDiffer(draft.spec, old.spec) ||
    !semanticEqual(annotations ?? {}, old.metadata.annotations ?? {});
  countChange(draft, old, changed);
}

function validateSpec({ metadata, spec }: Deployment, rules: TemplateRules): FieldError[] {
  const errors = validateCounts(spec, ["replicas"], SPEC);
  errors.push(...validateReplicaTemplate(spec, rules, SPEC));
  errors.push(...validateStrategy(spec.strategy));
  errors.push(...validateCounts(spec, ["minReadySeconds", "revisionHistoryLimit"], SPEC));
  const rollback = Number(metadata.annotations?.[ROLLBACK] ?? 0);
  errors.push(...validateCounts({ version: rollback }, ["version"], SPEC.child("rollback")));
  errors.push(...validateCounts(spec, ["progressDeadlineSeconds"], SPEC));
  return [...errors, ...validateDeadline(spec)];
}

function validateDeadline({
  progressDeadlineSeconds,
  minReadySeconds = 0,
}: DeploymentSpec): FieldError[] {
  if (progressDeadlineSeconds === undefined || progressDeadlineSeconds > minReadySeconds) return [];
  const at = SPEC.child("progressDeadlineSeconds");
  return [invalid(at, progressDeadlineSeconds, "must be greater than minReadySeconds")];
}

function validateStrategy(strategy: DeploymentStrategy): FieldError[] {
  const { type, rollingUpdate } = strategy;
  const path = SPEC.child("strategy");
  const at = path.child("rollingUpdate");
  if (type === "Recreate") {
    if (rollingUpdate === undefined) return [];
    return [forbidden(at, "may not be specified when strategy `type` is 'Recreate'")];
  }
  if (type !== "RollingUpdate") {
    const shown = internalForm("apps.v1.DeploymentStrategy", strategy);
    return [notSupported(path, shown, ["Recreate", "RollingUpdate"])];
  }
  const { maxUnavailable = 0, maxSurge = 0 } = rollingUpdate ?? {};
  const errors = [
    ...validateIntOrPercent(maxUnavailable, at.child("maxUnavailable")),
    ...validateIntOrPercent(maxSurge, at.child("maxSurge")),
  ];
  if (intOrPercentValue(maxUnavailable) === 0 && intOrPercentValue(maxSurge) === 0) {
    const detail = "may not be 0 when `maxSurge` is 0";
    errors.push(invalid(at.child("maxUnavailable"), maxUnavailable, detail));
  }
  errors.push(...validateAtMost100Percent(maxUnavailable, at.child("maxUnavailable")));
  return errors;
}

function validateStatusUpdate(deployment: Deployment, old: Deployment): FieldError[] {
  const { status } = deployment;
  return [
    ...validateKubeMetaUpdate(deployment, old),
    ...validateCounts(
      status,
      [
        "observedGeneration",
        "replicas",
        "updatedReplicas",
        "readyReplicas",
        "availableReplicas",
        "unavailableReplicas",
        "terminatingReplicas",
        "collisionCount",
      ],
      STATUS,
    ),
    ...validateAtMost(
      status,
      ["updatedReplicas", "readyReplicas", "availableReplicas"],
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
    ...validateCollisionCount(status.collisionCount, old.status.collisionCount, STATUS),
  ];
}
