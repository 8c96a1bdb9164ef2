/** coordination.k8s.io/v1 Lease: who holds something, and until when. */

import { ageColumn, nameColumn } from "#api/columns.ts";
import type { Lease, LeaseSpec } from "#api/generated/coordination.v1.ts";
import { defineKind } from "#api/kind.ts";
import { builtInSchema } from "#api/schema/from-facts.ts";
import { type FieldError, forbidden, invalid } from "#api/validation/field-error.ts";
import { METADATA } from "#api/validation/kube-meta.ts";
import { nameIsDnsSubdomain } from "#api/validation/names.ts";
import { validateObjectMetaUpdate } from "#api/validation/object-meta.ts";
import { Path } from "#api/validation/path.ts";
import { validateStrategy } from "../strategy.ts";

const SPEC = Path.of("spec");

export const leaseKind = defineKind<Lease>({
  group: "coordination.k8s.io",
  version: "v1",
  names: { kind: "Lease", plural: "leases" },
  scope: "Namespaced",
  schema: builtInSchema("coordination.v1.Lease"),
  nameRule: nameIsDnsSubdomain,
  createOnUpdate: true,

  // Fields of coordinated leader election, which is off: kept only where they are in use.
  prepareCreate({ spec }) {
    delete spec.strategy;
    delete spec.preferredHolder;
  },
  validate: ({ spec }) => validateSpec(spec),
  prepareUpdate({ spec }, old) {
    if (old.spec.strategy === undefined) delete spec.strategy;
    if (old.spec.preferredHolder === undefined) delete spec.preferredHolder;
  },
  validateUpdate: (next, old) => [
    ...validateObjectMetaUpdate(next.metadata, old.metadata, METADATA),
    ...validateSpec(next.spec),
  ],

  columns: [
    nameColumn,
    {
      name: "Holder",
      type: "string",
      describedBy: "coordination.v1.LeaseSpec.holderIdentity",
      cell: ({ spec }) => spec.holderIdentity ?? "",
    },
    ageColumn,
  ],
});

function validateSpec(spec: LeaseSpec): FieldError[] {
  const { leaseDurationSeconds, leaseTransitions, strategy, preferredHolder } = spec;
  const errors: FieldError[] = [];
  if (leaseDurationSeconds !== undefined && leaseDurationSeconds <= 0) {
    const path = SPEC.child("leaseDurationSeconds");
    errors.push(invalid(path, leaseDurationSeconds, "must be greater than 0"));
  }
  if (leaseTransitions !== undefined && leaseTransitions < 0) {
    const path = SPEC.child("leaseTransitions");
    errors.push(invalid(path, leaseTransitions, "must be greater than or equal to 0"));
  }
  if (strategy !== undefined) errors.push(...validateStrategy(strategy, SPEC.child("strategy")));
  if (preferredHolder && !strategy) {
    const detail = "may only be specified if `strategy` is defined";
    errors.push(forbidden(SPEC.child("preferredHolder"), detail));
  }
  return errors;
}
