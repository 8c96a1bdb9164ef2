/** resource.k8s.io ResourceClaim and ResourceClaimTemplate: devices asked for by pods. */

import { STATUS_RESETS_METADATA } from "#api/apply/reset-fields.ts";
import { isEmptyCollection } from "#api/codec/empty-collections.ts";
import { ageColumn, nameColumn } from "#api/columns.ts";
import { RETURNS_OBJECT } from "#api/deletion-rules.ts";
import { keepFields, keepMetadata } from "#api/draft.ts";
import type { ObjectMeta } from "#api/generated/meta.v1.ts";
import type {
  ResourceClaim,
  ResourceClaimTemplate,
  ResourceClaimTemplateSpec,
} from "#api/generated/resource.v1.ts";
import { defineKind, type KindSpec, type RuleContext } from "#api/kind.ts";
import { resourceClaimMeasure } from "#api/quota/resource-claim-measure.ts";
import { builtInSchema } from "#api/schema/from-facts.ts";
import { type FieldError, forbidden, invalid } from "#api/validation/field-error.ts";
import { semanticEqual } from "#api/validation/immutable.ts";
import { internalForm } from "#api/validation/internal-form.ts";
import {
  validateFinalizers,
  validateKubeMeta,
  validateKubeMetaUpdate,
} from "#api/validation/kube-meta.ts";
import { validateAnnotations, validateLabels } from "#api/validation/labels.ts";
import { nameIsDnsSubdomain } from "#api/validation/names.ts";
import { Path } from "#api/validation/path.ts";
import { alsoServedAs } from "#api/versions.ts";
import { deprecationOf } from "../deprecation.ts";
import { dropDeallocatedDevices, validateClaimStatus } from "./claim-status.ts";
import { defaultClaim, validateAdminAccess, validateClaim } from "./device-claim.ts";
import { defaultTolerations } from "./device-parts.ts";

const SPEC = Path.of("spec");
const META = { namespaced: true, nameRule: nameIsDnsSubdomain };

export const resourceClaimSpec: KindSpec<ResourceClaim> = {
  group: "resource.k8s.io",
  version: "v1",
  names: { kind: "ResourceClaim", plural: "resourceclaims" },
  scope: "Namespaced",
  schema: builtInSchema("resource.v1.ResourceClaim"),
  holdsFreeJson: true,
  quota: resourceClaimMeasure,
  resetFields: STATUS_RESETS_METADATA,
  deletion: RETURNS_OBJECT,
  nameRule: nameIsDnsSubdomain,
  unconditionalUpdate: true,
  defaults: ({ spec, status }) => {
    defaultClaim(spec);
    for (const { tolerations } of status.allocation?.devices.results ?? []) {
      defaultTolerations(tolerations);
    }
  },
  prepareCreate: (draft) => {
    draft.status = {};
  },
  prepareUpdate: (draft, old) => keepFields(draft, old, "status"),
  validate: ({ metadata, spec }, context) => [
    ...validateAdminAccess(spec.devices, context),
    ...validateFinalizers(metadata),
    ...validateClaim(spec.devices, context, SPEC.child("devices")),
  ],
  validateUpdate: (claim, old) => [
    ...validateKubeMeta(claim.metadata, META),
    ...validateKubeMetaUpdate(claim, old),
    ...validateUnchanged(claim.spec, old.spec, "resource.v1.ResourceClaimSpec"),
  ],
  subresources: {
    status: {
      prepareUpdate: (draft, old) => {
        keepFields(draft, old, "spec");
        keepMetadata(draft, old);
        dropDeallocatedDevices(draft.status, old.status);
      },
      validateUpdate: validateClaimStatus,
    },
  },
  columns: [
    nameColumn,
    {
      name: "State",
      type: "string",
      description: "A summary of the current state (allocated, pending, reserved, etc.).",
      cell: stateText,
    },
    ageColumn,
  ],
};

export const resourceClaimKind = defineKind(resourceClaimSpec);
export const resourceClaimV1beta2Kind = alsoServedAs(
  resourceClaimSpec,
  "v1beta2",
  "resource.v1beta2.ResourceClaim",
  { deprecation: deprecationOf("v1beta2", "ResourceClaim") },
);

export const resourceClaimTemplateSpec: KindSpec<ResourceClaimTemplate> = {
  group: "resource.k8s.io",
  version: "v1",
  names: { kind: "ResourceClaimTemplate", plural: "resourceclaimtemplates" },
  scope: "Namespaced",
  schema: builtInSchema("resource.v1.ResourceClaimTemplate"),
  holdsFreeJson: true,
  deletion: RETURNS_OBJECT,
  nameRule: nameIsDnsSubdomain,
  unconditionalUpdate: true,
  defaults: ({ spec }) => defaultClaim(spec.spec),
  validate: ({ metadata, spec }, context) => [
    ...validateAdminAccess(spec.spec.devices, context),
    ...validateFinalizers(metadata),
    ...validateTemplate(spec, context),
  ],
  validateUpdate: (template, old, context) => [
    ...validateKubeMeta(template.metadata, META),
    ...validateTemplate(template.spec, context),
    ...validateKubeMetaUpdate(template, old),
    ...validateUnchanged(template.spec, old.spec, "resource.v1.ResourceClaimTemplateSpec"),
  ],
  columns: [nameColumn, ageColumn],
};

export const resourceClaimTemplateKind = defineKind(resourceClaimTemplateSpec);
export const resourceClaimTemplateV1beta2Kind = alsoServedAs(
  resourceClaimTemplateSpec,
  "v1beta2",
  "resource.v1beta2.ResourceClaimTemplate",
  { deprecation: deprecationOf("v1beta2", "ResourceClaimTemplate") },
);

function validateTemplate(
  { metadata, spec }: ResourceClaimTemplateSpec,
  context: RuleContext,
): FieldError[] {
  return [
    ...validateTemplateMeta(metadata, SPEC.child("metadata")),
    ...validateClaim(spec.devices, context, SPEC.child("spec", "devices")),
  ];
}

/** A template's metadata may hold labels and annotations and nothing else. */
function validateTemplateMeta(metadata: ObjectMeta, path: Path): FieldError[] {
  const others = [
    ...Object.keys(metadata).filter((field) => field !== "labels" && field !== "annotations"),
    ...["ownerReferences", "finalizers"].filter((field) => isEmptyCollection(metadata, field)),
  ];
  return [
    ...validateAnnotations(metadata.annotations, path.child("annotations")),
    ...validateLabels(metadata.labels, path.child("labels")),
    ...others
      .map((field) => (field === "uid" ? "uID" : field)) // upstream's internal spelling
      .map((field) => forbidden(path.child(field), "cannot be set")),
  ];
}

function validateUnchanged(spec: unknown, old: unknown, type: string): FieldError[] {
  if (semanticEqual(spec, old)) return [];
  return [invalid(SPEC, internalForm(type, spec), "field is immutable")];
}

function stateText({ metadata, status }: ResourceClaim): string {
  const deleted = metadata.deletionTimestamp !== undefined;
  if (status.allocation === undefined) return deleted ? "deleted" : "pending";
  return [
    ...(deleted ? ["deleted"] : []),
    "allocated",
    ...((status.reservedFor ?? []).length > 0 ? ["reserved"] : []),
  ].join(",");
}
