/** v1 PodTemplate: a stand-alone pod template. */

import { formatLabels, nameColumn } from "#api/columns.ts";
import { RETURNS_OBJECT } from "#api/deletion-rules.ts";
import type { PodTemplate } from "#api/generated/core.v1.ts";
import { defineKind } from "#api/kind.ts";
import { builtInSchema } from "#api/schema/from-facts.ts";
import { validateFinalizers, validateKubeMetaUpdate } from "#api/validation/kube-meta.ts";
import { nameIsDnsSubdomain } from "#api/validation/names.ts";
import { Path } from "#api/validation/path.ts";
import { containerColumns } from "../container-columns.ts";
import { defaultPodTemplate } from "../pod/defaults.ts";
import { dropDisabledTemplateFields } from "../pod/drop-disabled.ts";
import { templateWarnings } from "../pod/warnings.ts";
import { templateRules, validatePodTemplateSpec } from "./pod-template-validation.ts";
import { countChange, specsDiffer } from "./workload.ts";

const TEMPLATE = Path.of("template");

export const podTemplateKind = defineKind<PodTemplate>({
  group: "",
  version: "v1",
  names: { kind: "PodTemplate", plural: "podtemplates" },
  scope: "Namespaced",
  schema: builtInSchema("core.v1.PodTemplate"),
  deletion: RETURNS_OBJECT,
  nameRule: nameIsDnsSubdomain,
  unconditionalUpdate: true,
  defaults: ({ template }) => defaultPodTemplate(template),
  prepareCreate: (draft, context) => {
    draft.metadata.generation = 1;
    dropDisabledTemplateFields(draft.template, context);
  },
  validate: ({ metadata, template }, context) => [
    ...validateFinalizers(metadata),
    ...validatePodTemplateSpec(template, templateRules(context), TEMPLATE),
  ],
  prepareUpdate: (draft, old, context) => {
    dropDisabledTemplateFields(draft.template, context, old.template);
    countChange(draft, old, specsDiffer(draft.template, old.template));
  },
  validateUpdate: (object, old, context) => [
    ...validateKubeMetaUpdate(object, old),
    ...validatePodTemplateSpec(object.template, templateRules(context, old.template), TEMPLATE),
  ],
  warnings: ({ metadata, template }, old) =>
    old !== undefined && metadata.generation === old.metadata.generation
      ? []
      : templateWarnings(template, TEMPLATE),
  columns: [
    nameColumn,
    ...containerColumns<PodTemplate>(({ template }) => template, 0),
    {
      name: "Pod Labels",
      type: "string",
      description: "The labels for the pod template.",
      cell: ({ template }) => formatLabels(template.metadata?.labels),
    },
  ],
});
