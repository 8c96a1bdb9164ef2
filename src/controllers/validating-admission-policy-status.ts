/**
 * Notes which generation of a validating admission policy has been seen, and which of its
 * expressions do not fit the built-in kinds that it matches.
 */

import { policyWarnings } from "#api/expressions/policy-type-check.ts";
import type { ValidatingAdmissionPolicy } from "#api/generated/admissionregistration.v1.ts";
import { validatingAdmissionPolicyKind } from "#api/kinds/admissionregistration/v1/validating-admission-policy.ts";
import { builtInKinds } from "#api/kinds/built-in-kinds.ts";
import { defineController, idle, type Outcome, ownKey } from "#runtime/controller.ts";
import { updateStatus } from "#runtime/writes.ts";

export const validatingAdmissionPolicyStatus = defineController<
  ValidatingAdmissionPolicy | undefined
>({
  name: "validatingadmissionpolicy-status-controller",
  feeds: [{ kind: validatingAdmissionPolicyKind, keys: ownKey }],
  observe: (caches, { name }) => caches(validatingAdmissionPolicyKind).get(undefined, name),
  decide,
});

function decide(policy: ValidatingAdmissionPolicy | undefined): Outcome {
  const { generation = 0 } = policy?.metadata ?? {};
  if (policy === undefined || generation <= (policy.status.observedGeneration ?? 0)) return idle;
  const warnings = policyWarnings(policy.spec, builtInKinds);
  const typeChecking = warnings.length === 0 ? {} : { expressionWarnings: warnings };
  const status = { ...policy.status, observedGeneration: generation, typeChecking };
  return { writes: [updateStatus(validatingAdmissionPolicyKind, { ...policy, status })] };
}
