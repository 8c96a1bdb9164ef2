/**
 * Notes which generation of a validating admission policy has been seen. Types of its expressions
 * are not checked here, so nothing is said about them.
 */
import { validatingAdmissionPolicyKind } from "#api/admissionregistration/v1/validating-admission-policy.ts";
import type { ValidatingAdmissionPolicy } from "#api/generated/admissionregistration.v1.ts";
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
  const status = { ...policy.status, observedGeneration: generation };
  return { writes: [updateStatus(validatingAdmissionPolicyKind, { ...policy, status })] };
}
