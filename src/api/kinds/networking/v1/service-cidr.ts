/** networking.k8s.io ServiceCIDR: a range that Service addresses come from. */

import { STATUS_RESETS_METADATA } from "#api/apply/reset-fields.ts";
import { isEmptyCollection } from "#api/codec/empty-collections.ts";
import { ageColumn, nameColumn } from "#api/columns.ts";
import { keepFields, keepMetadata } from "#api/draft.ts";
import type { ServiceCIDR, ServiceCIDRSpec } from "#api/generated/networking.v1.ts";
import { defineKind, type KindSpec } from "#api/kind.ts";
import { builtInSchema } from "#api/schema/from-facts.ts";
import { invalidEach } from "#api/validation/faults.ts";
import { type FieldError, invalid, required } from "#api/validation/field-error.ts";
import { internalForm } from "#api/validation/internal-form.ts";
import { isCanonicalCidr, parseCidr } from "#api/validation/ip.ts";
import { validateFinalizers, validateKubeMetaUpdate } from "#api/validation/kube-meta.ts";
import { nameIsDnsSubdomain } from "#api/validation/names.ts";
import { Path } from "#api/validation/path.ts";
import { alsoServedAs } from "#api/versions.ts";

const IMMUTABLE = "field is immutable";

const spec: KindSpec<ServiceCIDR> = {
  group: "networking.k8s.io",
  version: "v1",
  names: { kind: "ServiceCIDR", plural: "servicecidrs" },
  scope: "Cluster",
  schema: builtInSchema("networking.v1.ServiceCIDR"),
  resetFields: STATUS_RESETS_METADATA,
  nameRule: nameIsDnsSubdomain,
  unconditionalUpdate: true,
  prepareCreate: (draft) => {
    draft.status = {};
  },
  prepareUpdate: (draft, old) => keepFields(draft, old, "status"),
  validate: ({ metadata, spec }) => [...validateFinalizers(metadata), ...validateSpec(spec)],
  validateUpdate: (range, old) => [
    ...validateKubeMetaUpdate(range, old),
    ...validateSpecUpdate(range.spec, old.spec),
  ],
  subresources: {
    status: {
      prepareUpdate: (draft, old) => {
        keepFields(draft, old, "spec");
        keepMetadata(draft, old);
      },
      validateUpdate: validateKubeMetaUpdate,
    },
  },
  columns: [
    nameColumn,
    {
      name: "CIDRs",
      type: "string",
      describedBy: "networking.v1.ServiceCIDRSpec.cidrs",
      cell: ({ spec }) => (spec.cidrs ?? []).join(","),
    },
    ageColumn,
  ],
};

export const serviceCidrKind = defineKind(spec);
export const serviceCidrV1beta1Kind = alsoServedAs(
  spec,
  "v1beta1",
  "networking.v1beta1.ServiceCIDR",
  {
    deprecation:
      "networking.k8s.io/v1beta1 ServiceCIDR is deprecated in v1.34+, unavailable in v1.37+",
  },
);

function validateSpec(spec: ServiceCIDRSpec): FieldError[] {
  const path = Path.of("spec", "cidrs");
  const { cidrs = [] } = spec;
  if (cidrs.length === 0) return [required(path, "at least one CIDR required")];
  if (cidrs.length > 2) {
    const value = internalForm("networking.v1.ServiceCIDRSpec", spec);
    return [invalid(path, value, "may only hold up to 2 values")];
  }
  const errors = cidrs.flatMap((cidr, i) =>
    invalidEach(path.index(i), cidr, isCanonicalCidr(cidr)),
  );
  const [first, second] = cidrs.map((cidr) => parseCidr(cidr)?.address.bytes.length);
  if (cidrs.length === 2 && first !== undefined && first === second) {
    const detail =
      "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64";
    errors.push(invalid(path, cidrs, detail));
  }
  return errors;
}

/** Nothing may change, except that a second family may be added. */
function validateSpecUpdate(spec: ServiceCIDRSpec, old: ServiceCIDRSpec): FieldError[] {
  const path = Path.of("spec", "cidrs");
  const now = spec.cidrs ?? [];
  const before = old.cidrs ?? [];
  const changed = before.flatMap((cidr, i) =>
    cidr === now[i] ? [] : [invalid(path.index(i), now[i], IMMUTABLE)],
  );
  if (now.length === before.length) return changed;
  if (before.length === 1 && now.length === 2) return [...changed, ...validateSpec(spec)];
  return [invalid(path, isEmptyCollection(spec, "cidrs") ? [] : spec.cidrs, IMMUTABLE)];
}
