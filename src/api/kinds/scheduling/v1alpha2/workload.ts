/** scheduling.k8s.io/v1alpha2 Workload: the groups of pods that something bigger is made of. */

import { ageColumn, nameColumn } from "#api/columns.ts";
import type {
  PodGroupTemplate,
  TypedLocalObjectReference,
  Workload,
  WorkloadSpec,
} from "#api/generated/scheduling.v1alpha2.ts";
import { defineKind } from "#api/kind.ts";
import { builtInSchema } from "#api/schema/from-facts.ts";
import { duplicate, type FieldError, required, tooMany } from "#api/validation/field-error.ts";
import { semanticEqual } from "#api/validation/immutable.ts";
import { validateFinalizers, validateKubeMetaUpdate } from "#api/validation/kube-meta.ts";
import {
  isLongName,
  isPathSegmentName,
  isShortName,
  nameIsDnsSubdomain,
} from "#api/validation/names.ts";
import { Path } from "#api/validation/path.ts";
import { dropDisabledFields, immutable, validateName, validatePolicy } from "./policy.ts";

const TEMPLATES_MAX = 8;
const CONTROLLER = Path.of("spec", "controllerRef");
const TEMPLATES = Path.of("spec", "podGroupTemplates");

export const workloadKind = defineKind<Workload>({
  group: "scheduling.k8s.io",
  version: "v1alpha2",
  names: { kind: "Workload", plural: "workloads" },
  scope: "Namespaced",
  schema: builtInSchema("scheduling.v1alpha2.Workload"),
  nameRule: nameIsDnsSubdomain,
  unconditionalUpdate: true,

  prepareCreate({ spec }) {
    for (const template of spec.podGroupTemplates ?? []) dropDisabledFields(template, undefined);
  },
  validate: ({ metadata, spec }) => [
    ...validateFinalizers(metadata),
    ...(spec.controllerRef === undefined ? [] : validateController(spec.controllerRef)),
    ...validateTemplates(spec),
  ],
  prepareUpdate({ spec }, old) {
    for (const [i, template] of (spec.podGroupTemplates ?? []).entries()) {
      dropDisabledFields(template, old.spec.podGroupTemplates?.[i]);
    }
  },
  validateUpdate: (next, old) => [
    ...validateKubeMetaUpdate(next, old),
    ...(semanticEqual(next.spec.controllerRef, old.spec.controllerRef)
      ? []
      : [immutable(CONTROLLER)]),
    ...(semanticEqual(next.spec.podGroupTemplates, old.spec.podGroupTemplates)
      ? []
      : [immutable(TEMPLATES), ...validateCount(next.spec)]),
  ],

  columns: [nameColumn, ageColumn],
});

function validateController({ apiGroup, kind, name }: TypedLocalObjectReference): FieldError[] {
  return [
    ...(apiGroup ? validateName(apiGroup, isLongName, CONTROLLER.child("apiGroup")) : []),
    ...validateName(kind, isPathSegmentName, CONTROLLER.child("kind")),
    ...validateName(name, isPathSegmentName, CONTROLLER.child("name")),
  ];
}

function validateCount({ podGroupTemplates }: WorkloadSpec): FieldError[] {
  const count = (podGroupTemplates ?? []).length;
  if (count === 0) return [required(TEMPLATES, "")];
  return count > TEMPLATES_MAX ? [tooMany(TEMPLATES, count, TEMPLATES_MAX)] : [];
}

function validateTemplates(spec: WorkloadSpec): FieldError[] {
  const errors = validateCount(spec);
  if (errors.length > 0) return errors;
  const templates = spec.podGroupTemplates ?? [];
  for (const [i, template] of templates.entries()) {
    if (templates.findIndex(({ name }) => name === template.name) < i) {
      errors.push(duplicate(TEMPLATES.index(i), template));
    }
  }
  return [
    ...errors,
    ...templates.flatMap((template, i) => validateTemplate(template, TEMPLATES.index(i))),
  ];
}

function validateTemplate({ name, schedulingPolicy }: PodGroupTemplate, path: Path): FieldError[] {
  return [
    ...validateName(name, isShortName, path.child("name")),
    ...validatePolicy(schedulingPolicy, path.child("schedulingPolicy")),
  ];
}
