/** apps/v1 DaemonSet: one pod of a template on every node that fits. */

import { ageColumn, formatLabels, nameColumn } from "#api/columns.ts";
import { keep } from "#api/draft.ts";
import type { DaemonSet, DaemonSetUpdateStrategy } from "#api/generated/apps.v1.ts";
import { type Column, type Draft, defineKind } from "#api/kind.ts";
import { containerColumns, selectorColumn } from "#api/kinds/core/v1/container-columns.ts";
import { defaultPodTemplate } from "#api/kinds/core/v1/pod/defaults.ts";
import { dropDisabledTemplateFields } from "#api/kinds/core/v1/pod/drop-disabled.ts";
import { templateWarnings } from "#api/kinds/core/v1/pod/warnings.ts";
import {
  type TemplateRules,
  templateRules,
  validatePodTemplateSpec,
} from "#api/kinds/core/v1/workload/pod-template-validation.ts";
import {
  countChange,
  isEmptySelector,
  specsDiffer,
  validateCollisionCount,
  validateCounts,
  validateRunsForever,
  validateSelectsTemplate,
} from "#api/kinds/core/v1/workload/workload.ts";
import { selectorOf } from "#api/meta/label-selector.ts";
import { int64Fault } from "#api/meta/parse-int.ts";
import { builtInSchema } from "#api/schema/from-facts.ts";
import { type FieldError, invalid, notSupported, required } from "#api/validation/field-error.ts";
import { validateImmutableField } from "#api/validation/immutable.ts";
import { validateAtMost100Percent, validateIntOrPercent } from "#api/validation/int-or-percent.ts";
import { internalForm } from "#api/validation/internal-form.ts";
import { validateFinalizers, validateKubeMetaUpdate } from "#api/validation/kube-meta.ts";
import { selectorHasInvalidLabelValue, validateLabelSelector } from "#api/validation/labels.ts";
import { nameIsDnsSubdomain } from "#api/validation/names.ts";
import { Path } from "#api/validation/path.ts";
import { intOrPercentValue } from "./rolling-update.ts";

const SPEC = Path.of("spec");
const STATUS = Path.of("status");
/** Counts the changes of the template; an annotation since there is no field for it any more. */
const TEMPLATE_GENERATION = "deprecated.daemonset.template.generation";

export const daemonSetKind = defineKind<DaemonSet>({
  group: "apps",
  version: "v1",
  names: { kind: "DaemonSet", plural: "daemonsets", short: ["ds"], categories: ["all"] },
  scope: "Namespaced",
  schema: builtInSchema("apps.v1.DaemonSet"),
  nameRule: nameIsDnsSubdomain,
  unconditionalUpdate: true,
  unreadable: ({ metadata }) => {
    const count = metadata.annotations?.[TEMPLATE_GENERATION];
    return count === undefined ? undefined : int64Fault(count);
  },
  defaults,
  prepareCreate: (draft, context) => {
    draft.status = keep(NO_STATUS);
    draft.metadata.generation = 1;
    setTemplateGeneration(draft, Math.max(templateGeneration(draft), 1));
    dropDisabledTemplateFields(draft.spec.template, context);
  },
  validate: (set, context) => [
    ...validateFinalizers(set.metadata),
    ...validateSpec(set, templateRules(context)),
  ],
  prepareUpdate: (draft, old, context) => {
    dropDisabledTemplateFields(draft.spec.template, context, old.spec.template);
    draft.status = keep(old.status);
    const changed = specsDiffer(draft.spec.template, old.spec.template);
    setTemplateGeneration(draft, templateGeneration(old) + (changed ? 1 : 0));
    countChange(draft, old, changed || specsDiffer(draft.spec, old.spec));
  },
  validateUpdate: (set, old, context) => {
    const rules = templateRules(context, old.spec.template);
    const selector = old.spec.selector ?? undefined;
    const allowInvalidLabelValueInSelector =
      rules.allowInvalidLabelValueInSelector || selectorHasInvalidLabelValue(selector);
    return [
      ...validateKubeMetaUpdate(set, old),
      ...validateImmutableField(set.spec.selector, old.spec.selector, SPEC.child("selector")),
      ...validateSpec(set, { ...rules, allowInvalidLabelValueInSelector }),
    ];
  },
  warnings: (set, old) =>
    old !== undefined && templateGeneration(set) === templateGeneration(old)
      ? []
      : templateWarnings(set.spec.template, SPEC.child("template")),
  subresources: {
    status: {
      prepareUpdate: (draft, old) => {
        draft.spec = keep(old.spec);
        setTemplateGeneration(draft, templateGeneration(old));
      },
      validateUpdate: validateStatusUpdate,
    },
  },
  columns: [
    nameColumn,
    countColumn("Desired", "desiredNumberScheduled"),
    countColumn("Current", "currentNumberScheduled"),
    countColumn("Ready", "numberReady"),
    countColumn("Up-to-date", "updatedNumberScheduled"),
    countColumn("Available", "numberAvailable"),
    {
      name: "Node Selector",
      type: "string",
      describedBy: "core.v1.PodSpec.nodeSelector",
      cell: ({ spec }) => formatLabels(spec.template.spec.nodeSelector),
    },
    ageColumn,
    ...containerColumns<DaemonSet>(({ spec }) => spec.template),
    selectorColumn("apps.v1.DaemonSetSpec.selector", ({ spec }) => spec.selector ?? undefined),
  ],
});

const NO_STATUS: DaemonSet["status"] = {
  currentNumberScheduled: 0,
  numberMisscheduled: 0,
  desiredNumberScheduled: 0,
  numberReady: 0,
};

type Count = Extract<
  keyof DaemonSet["status"],
  `${string}Scheduled` | "numberReady" | "numberAvailable"
>;

function countColumn(name: string, field: Count): Column<DaemonSet> {
  return {
    name,
    type: "integer",
    describedBy: `apps.v1.DaemonSetStatus.${field}`,
    cell: ({ status }) => status[field] ?? 0,
  };
}

function defaults(draft: Draft<DaemonSet>): void {
  const { metadata, spec } = draft;
  const { updateStrategy } = spec;
  updateStrategy.type ||= "RollingUpdate";
  if (updateStrategy.type === "RollingUpdate") {
    updateStrategy.rollingUpdate ??= {};
    updateStrategy.rollingUpdate.maxUnavailable ??= 1;
  }
  if (updateStrategy.rollingUpdate !== undefined) {
    updateStrategy.rollingUpdate.maxUnavailable ??= 0;
    updateStrategy.rollingUpdate.maxSurge ??= 0;
  }
  spec.revisionHistoryLimit ??= 10;
  defaultPodTemplate(spec.template);
  // The annotation is set here, so that the writer owns it even if the request did not have it.
  if (metadata.annotations?.[TEMPLATE_GENERATION] === undefined) setTemplateGeneration(draft, 0);
}

function templateGeneration({ metadata }: Pick<DaemonSet, "metadata">): number {
  const text = metadata.annotations?.[TEMPLATE_GENERATION] ?? "0";
  return /^[-+]?[0-9]+$/.test(text) ? Number(text) : 0;
}

function setTemplateGeneration({ metadata }: Draft<DaemonSet>, generation: number): void {
  metadata.annotations = { ...metadata.annotations, [TEMPLATE_GENERATION]: String(generation) };
}

function validateSpec({ spec }: DaemonSet, rules: TemplateRules): FieldError[] {
  const selector = spec.selector ?? undefined;
  const at = SPEC.child("selector");
  const options = { allowInvalidLabelValue: rules.allowInvalidLabelValueInSelector };
  const errors = validateLabelSelector(selector, options, at);
  const parsed = selectorOf(selector);
  const templatePath = SPEC.child("template");
  if (parsed.ok) errors.push(...validateSelectsTemplate(parsed.value, spec.template, templatePath));
  if (selector !== undefined && isEmptySelector(selector)) {
    errors.push(invalid(at, selector, "empty selector is invalid for daemonset"));
  }
  errors.push(...validatePodTemplateSpec(spec.template, rules, templatePath));
  errors.push(...validateRunsForever(spec.template, "DaemonSet", templatePath));
  errors.push(...validateCounts(spec, ["minReadySeconds"], SPEC));
  errors.push(...validateStrategy(spec.updateStrategy, SPEC.child("updateStrategy")));
  return [...errors, ...validateCounts(spec, ["revisionHistoryLimit"], SPEC)];
}

function validateStrategy(strategy: DaemonSetUpdateStrategy, path: Path): FieldError[] {
  const { type, rollingUpdate } = strategy;
  if (type === "OnDelete") return [];
  if (type !== "RollingUpdate") {
    const shown = internalForm("apps.v1.DaemonSetUpdateStrategy", strategy);
    return [notSupported(path, shown, ["RollingUpdate", "OnDelete"])];
  }
  const at = path.child("rollingUpdate");
  if (rollingUpdate === undefined) return [required(at, "")];
  const { maxUnavailable = 0, maxSurge = 0 } = rollingUpdate;
  const unavailablePath = at.child("maxUnavailable");
  const surgePath = at.child("maxSurge");
  const errors = [
    ...validateIntOrPercent(maxUnavailable, unavailablePath),
    ...validateIntOrPercent(maxSurge, surgePath),
    ...validateAtMost100Percent(maxUnavailable, unavailablePath),
    ...validateAtMost100Percent(maxSurge, surgePath),
  ];
  const hasUnavailable = intOrPercentValue(maxUnavailable) !== 0;
  const hasSurge = intOrPercentValue(maxSurge) !== 0;
  if (hasUnavailable && hasSurge) {
    const detail = "may not be set when maxUnavailable is non-zero";
    errors.push(invalid(surgePath, maxSurge, detail));
  }
  if (!hasUnavailable && !hasSurge) {
    errors.push(required(unavailablePath, "cannot be 0 when maxSurge is 0"));
  }
  return errors;
}

function validateStatusUpdate(set: DaemonSet, old: DaemonSet): FieldError[] {
  const { status } = set;
  return [
    ...validateKubeMetaUpdate(set, old),
    ...validateCounts(
      status,
      [
        "currentNumberScheduled",
        "numberMisscheduled",
        "desiredNumberScheduled",
        "numberReady",
        "observedGeneration",
        "updatedNumberScheduled",
        "numberAvailable",
        "numberUnavailable",
        "collisionCount",
      ],
      STATUS,
    ),
    ...validateCollisionCount(status.collisionCount, old.status.collisionCount, STATUS),
  ];
}
