/** scheduling.k8s.io/v1alpha2 PodGroup: pods that are scheduled with regard to each other. */

import { STATUS_RESETS_METADATA } from "#api/apply/reset-fields.ts";
import { ageColumn, NONE, nameColumn } from "#api/columns.ts";
import { keep, keepMetadata } from "#api/draft.ts";
import type {
  PodGroup,
  PodGroupSpec,
  PodGroupTemplateReference,
} from "#api/generated/scheduling.v1alpha2.ts";
import { defineKind } from "#api/kind.ts";
import { builtInSchema } from "#api/schema/from-facts.ts";
import { validateConditions } from "#api/validation/conditions.ts";
import { type FieldError, invalid } from "#api/validation/field-error.ts";
import { semanticEqual } from "#api/validation/immutable.ts";
import { validateFinalizers, validateKubeMetaUpdate } from "#api/validation/kube-meta.ts";
import { isLongName, isShortName, nameIsDnsSubdomain } from "#api/validation/names.ts";
import { Path } from "#api/validation/path.ts";
import { dropDisabledFields, immutable, validateName, validatePolicy } from "./policy.ts";

const TEMPLATE = Path.of("spec", "podGroupTemplateRef");
const POLICY = Path.of("spec", "schedulingPolicy");

export const podGroupKind = defineKind<PodGroup>({
  group: "scheduling.k8s.io",
  version: "v1alpha2",
  names: { kind: "PodGroup", plural: "podgroups" },
  scope: "Namespaced",
  schema: builtInSchema("scheduling.v1alpha2.PodGroup"),
  resetFields: STATUS_RESETS_METADATA,
  nameRule: nameIsDnsSubdomain,
  unconditionalUpdate: true,

  prepareCreate(draft) {
    draft.status = {};
    dropDisabledFields(draft.spec, undefined);
  },
  validate: ({ metadata, spec }) => [...validateFinalizers(metadata), ...validateSpec(spec)],
  prepareUpdate(draft, old) {
    draft.status = keep(old.status);
    dropDisabledFields(draft.spec, old.spec);
  },
  validateUpdate: (next, old) => [
    ...validateKubeMetaUpdate(next, old),
    ...(semanticEqual(next.spec.podGroupTemplateRef, old.spec.podGroupTemplateRef)
      ? []
      : [immutable(TEMPLATE)]),
    ...(semanticEqual(next.spec.schedulingPolicy, old.spec.schedulingPolicy)
      ? []
      : [immutable(POLICY)]),
  ],

  subresources: {
    status: {
      prepareUpdate(draft, old) {
        draft.spec = keep(old.spec);
        keepMetadata(draft, old);
        if (old.spec.resourceClaims === undefined) delete draft.status.resourceClaimStatuses;
      },
      validateUpdate: (next, old) => [
        ...validateKubeMetaUpdate(next, old),
        ...validateConditions(next.status.conditions, Path.of("status", "conditions")),
      ],
    },
  },

  columns: [
    nameColumn,
    {
      name: "Policy",
      type: "string",
      describedBy: "scheduling.v1alpha2.PodGroupSpec.schedulingPolicy",
      cell: ({ spec }) => (spec.schedulingPolicy.gang === undefined ? "Basic" : "Gang"),
    },
    {
      name: "Workload",
      type: "string",
      description: "Name of the referenced Workload object",
      cell: ({ spec }) => spec.podGroupTemplateRef?.workload?.workloadName ?? NONE,
    },
    {
      name: "Status",
      type: "string",
      description: "Status of the PodGroup",
      cell: statusText,
    },
    ageColumn,
  ],
});

function validateSpec({ podGroupTemplateRef, schedulingPolicy }: PodGroupSpec): FieldError[] {
  return [
    ...(podGroupTemplateRef ? validateTemplate(podGroupTemplateRef) : []),
    ...validatePolicy(schedulingPolicy, POLICY),
  ];
}

function validateTemplate({ workload }: PodGroupTemplateReference): FieldError[] {
  if (!workload) return [invalid(TEMPLATE, "", "must specify one of: `workload`")];
  const path = TEMPLATE.child("workload");
  const { workloadName, podGroupTemplateName } = workload;
  return [
    ...validateName(workloadName, isLongName, path.child("workloadName")),
    ...validateName(podGroupTemplateName, isShortName, path.child("podGroupTemplateName")),
  ];
}

function statusText({ status: { conditions = [] } }: PodGroup): string {
  const last = (wanted: string) => conditions.findLast(({ type }) => type === wanted);
  const disrupted = last("DisruptionTarget");
  if (disrupted !== undefined) return disrupted.reason;
  const scheduled = last("PodGroupScheduled");
  if (scheduled === undefined) return "Pending";
  return scheduled.status === "True" ? "Scheduled" : "Unschedulable";
}
