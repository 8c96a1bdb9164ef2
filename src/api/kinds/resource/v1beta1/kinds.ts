/** The kinds of resource.k8s.io/v1beta1 whose objects look different there. */

import type {
  ResourceClaim as StoredClaim,
  ResourceSlice as StoredSlice,
  ResourceClaimTemplate as StoredTemplate,
} from "#api/generated/resource.v1.ts";
import type {
  DeviceRequest,
  ResourceClaim,
  ResourceClaimSpec,
  ResourceClaimTemplate,
  ResourceSlice,
} from "#api/generated/resource.v1beta1.ts";
import { type Column, type Draft, defineKind } from "#api/kind.ts";
import { unsupportedFieldText } from "#api/meta/field-selector.ts";
import { builtInSchema } from "#api/schema/from-facts.ts";
import { nameIsDnsSubdomain } from "#api/validation/names.ts";
import { deprecationOf } from "../deprecation.ts";
import { defaultTolerations } from "../v1/device-parts.ts";
import { resourceClaimSpec, resourceClaimTemplateSpec } from "../v1/resource-claim.ts";
import { resourceSliceSpec } from "../v1/resource-slice.ts";
import { claimFromV1, claimToV1, sliceFromV1, sliceToV1 } from "./conversion.ts";

const V1 = "resource.k8s.io/v1";
const V1BETA1 = "resource.k8s.io/v1beta1";
const SAME = {
  group: "resource.k8s.io",
  version: "v1beta1",
  nameRule: nameIsDnsSubdomain,
  unconditionalUpdate: true,
} as const;

export const resourceClaimV1beta1Kind = defineKind<ResourceClaim>({
  ...SAME,
  names: resourceClaimSpec.names,
  scope: "Namespaced",
  schema: builtInSchema("resource.v1beta1.ResourceClaim"),
  deprecation: deprecationOf("v1beta1", "ResourceClaim"),
  defaults: ({ spec, status }) => {
    defaultClaim(spec);
    for (const { tolerations } of status.allocation?.devices.results ?? []) {
      defaultTolerations(tolerations);
    }
  },
  subresources: { status: { prepareUpdate: () => {} } },
  columns: columnsOf(resourceClaimSpec.columns, toStoredClaim),
  storedAs: {
    group: "resource.k8s.io",
    version: "v1",
    toStored: toStoredClaim,
    fromStored: (stored) => {
      const claim = stored as StoredClaim;
      return { ...claim, apiVersion: V1BETA1, spec: claimFromV1(claim.spec) };
    },
  },
});

export const resourceClaimTemplateV1beta1Kind = defineKind<ResourceClaimTemplate>({
  ...SAME,
  names: resourceClaimTemplateSpec.names,
  scope: "Namespaced",
  schema: builtInSchema("resource.v1beta1.ResourceClaimTemplate"),
  deprecation: deprecationOf("v1beta1", "ResourceClaimTemplate"),
  defaults: ({ spec }) => defaultClaim(spec.spec),
  columns: columnsOf(resourceClaimTemplateSpec.columns, toStoredTemplate),
  storedAs: {
    group: "resource.k8s.io",
    version: "v1",
    toStored: toStoredTemplate,
    fromStored: (stored) => {
      const template = stored as StoredTemplate;
      const spec = { ...template.spec, spec: claimFromV1(template.spec.spec) };
      return { ...template, apiVersion: V1BETA1, spec };
    },
  },
});

export const resourceSliceV1beta1Kind = defineKind<ResourceSlice>({
  ...SAME,
  names: resourceSliceSpec.names,
  scope: "Cluster",
  schema: builtInSchema("resource.v1beta1.ResourceSlice"),
  deprecation: deprecationOf("v1beta1", "ResourceSlice"),
  generation: true,
  defaults: ({ spec }) => {
    for (const { basic } of spec.devices ?? []) {
      const mappings = Object.values(basic?.nodeAllocatableResourceMappings ?? {});
      for (const mapping of mappings) mapping.allocationMultiplier ??= "1";
    }
  },
  unsupportedFieldText: (field, apiVersion) =>
    unsupportedFieldText(field, `${apiVersion}, Kind=ResourceSlice`),
  selectableFields: ({ spec }) => ({
    "spec.nodeName": spec.nodeName ?? "",
    "spec.driver": spec.driver,
  }),
  columns: columnsOf(resourceSliceSpec.columns, toStoredSlice),
  storedAs: {
    group: "resource.k8s.io",
    version: "v1",
    toStored: toStoredSlice,
    fromStored: (stored) => {
      const slice = stored as StoredSlice;
      return { ...slice, apiVersion: V1BETA1, spec: sliceFromV1(slice.spec) };
    },
  },
});

function toStoredClaim(claim: ResourceClaim): StoredClaim {
  return { ...claim, apiVersion: V1, spec: claimToV1(claim.spec) };
}

function toStoredTemplate(template: ResourceClaimTemplate): StoredTemplate {
  const spec = { ...template.spec, spec: claimToV1(template.spec.spec) };
  return { ...template, apiVersion: V1, spec };
}

function toStoredSlice(slice: ResourceSlice): StoredSlice {
  return { ...slice, apiVersion: V1, spec: sliceToV1(slice.spec) };
}

function columnsOf<Own, Stored>(
  columns: readonly Column<Stored>[],
  toStored: (own: Own) => Stored,
): readonly Column<Own>[] {
  return columns.map(({ cell, ...column }) => ({
    ...column,
    cell: (object: Own, nowMs: number) => cell(toStored(object), nowMs),
  }));
}

function defaultClaim({ devices }: Draft<ResourceClaimSpec>): void {
  for (const request of devices.requests ?? []) {
    if ((request.deviceClassName ?? "") !== "") defaultCount(request);
    defaultTolerations(request.tolerations);
    for (const alternative of request.firstAvailable ?? []) {
      defaultCount(alternative);
      defaultTolerations(alternative.tolerations);
    }
  }
}

function defaultCount(request: Pick<Draft<DeviceRequest>, "allocationMode" | "count">): void {
  request.allocationMode ??= "ExactCount";
  if (request.allocationMode === "ExactCount" && (request.count ?? 0) === 0) request.count = 1;
}
