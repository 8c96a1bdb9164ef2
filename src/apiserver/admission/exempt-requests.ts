/** Requests exempt from webhooks and policies, so that a broken one can always be removed. */
import type { AdmissionRequest } from "./admission-request.ts";

const POLICIES: readonly string[] = [
  "MutatingAdmissionPolicy",
  "MutatingAdmissionPolicyBinding",
  "ValidatingAdmissionPolicy",
  "ValidatingAdmissionPolicyBinding",
];
const WEBHOOKS: readonly string[] = [
  "MutatingWebhookConfiguration",
  "ValidatingWebhookConfiguration",
];

const REVIEWS: ReadonlySet<string> = new Set([
  "authentication.k8s.io/selfsubjectreviews",
  "authentication.k8s.io/tokenreviews",
  "authorization.k8s.io/localsubjectaccessreviews",
  "authorization.k8s.io/selfsubjectaccessreviews",
  "authorization.k8s.io/selfsubjectrulesreviews",
  "authorization.k8s.io/subjectaccessreviews",
]);

/** Webhook configurations and policies are not subject to webhooks. */
export function isExemptFromWebhooks({ requested: { kind } }: AdmissionRequest): boolean {
  if (kind.group !== "admissionregistration.k8s.io") return false;
  return POLICIES.includes(kind.kind) || WEBHOOKS.includes(kind.kind);
}

/** Policies are not subject to policies; nor are authentication and authorization reviews. */
export function isExemptFromPolicies({ requested }: AdmissionRequest): boolean {
  const { group, kind } = requested.kind;
  if (group === "admissionregistration.k8s.io") return POLICIES.includes(kind);
  return REVIEWS.has(`${group}/${requested.resource.resource}`);
}
