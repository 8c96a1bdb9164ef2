/** The kinds of networking, policy, access control, admission, extension and device groups. */

import type { Kind } from "../kind.ts";
import {
  mutatingAdmissionPolicyKind,
  mutatingAdmissionPolicyV1alpha1Kind,
  mutatingAdmissionPolicyV1beta1Kind,
} from "./admissionregistration/v1/mutating-admission-policy.ts";
import {
  mutatingAdmissionPolicyBindingKind,
  mutatingAdmissionPolicyBindingV1alpha1Kind,
  mutatingAdmissionPolicyBindingV1beta1Kind,
  validatingAdmissionPolicyBindingKind,
} from "./admissionregistration/v1/policy-bindings.ts";
import { validatingAdmissionPolicyKind } from "./admissionregistration/v1/validating-admission-policy.ts";
import {
  mutatingWebhookConfigurationKind,
  validatingWebhookConfigurationKind,
} from "./admissionregistration/v1/webhook-configurations.ts";
import { customResourceDefinitionKind } from "./apiextensions/v1/custom-resource-definition.ts";
import { apiServiceKind } from "./apiregistration/v1/api-service.ts";
import { selfSubjectReviewKind, tokenReviewKind } from "./authentication/v1/reviews.ts";
import {
  localSubjectAccessReviewKind,
  selfSubjectAccessReviewKind,
  selfSubjectRulesReviewKind,
  subjectAccessReviewKind,
} from "./authorization/v1/access-reviews.ts";
import { horizontalPodAutoscalerV1Kind } from "./autoscaling/v1/horizontal-pod-autoscaler.ts";
import { horizontalPodAutoscalerKind } from "./autoscaling/v2/horizontal-pod-autoscaler.ts";
import { certificateSigningRequestKind } from "./certificates/v1/certificate-signing-request.ts";
import {
  clusterTrustBundleV1alpha1Kind,
  clusterTrustBundleV1beta1Kind,
} from "./certificates/v1beta1/cluster-trust-bundle.ts";
import { podCertificateRequestKind } from "./certificates/v1beta1/pod-certificate-request.ts";
import { flowSchemaKind } from "./flowcontrol/v1/flow-schema.ts";
import { priorityLevelConfigurationKind } from "./flowcontrol/v1/priority-level-configuration.ts";
import { storageVersionKind } from "./internal/v1alpha1/storage-version.ts";
import { ingressKind } from "./networking/v1/ingress.ts";
import { ingressClassKind } from "./networking/v1/ingress-class.ts";
import { ipAddressKind, ipAddressV1beta1Kind } from "./networking/v1/ip-address.ts";
import { networkPolicyKind } from "./networking/v1/network-policy.ts";
import { serviceCidrKind, serviceCidrV1beta1Kind } from "./networking/v1/service-cidr.ts";
import { podDisruptionBudgetKind } from "./policy/v1/pod-disruption-budget.ts";
import { clusterRoleBindingKind, roleBindingKind } from "./rbac/v1/bindings.ts";
import { clusterRoleKind, roleKind } from "./rbac/v1/roles.ts";
import {
  deviceClassKind,
  deviceClassV1beta1Kind,
  deviceClassV1beta2Kind,
} from "./resource/v1/device-class.ts";
import {
  resourceClaimKind,
  resourceClaimTemplateKind,
  resourceClaimTemplateV1beta2Kind,
  resourceClaimV1beta2Kind,
} from "./resource/v1/resource-claim.ts";
import { resourceSliceKind, resourceSliceV1beta2Kind } from "./resource/v1/resource-slice.ts";
import {
  deviceTaintRuleV1alpha3Kind,
  deviceTaintRuleV1beta2Kind,
} from "./resource/v1alpha3/device-taint-rule.ts";
import { resourcePoolStatusRequestKind } from "./resource/v1alpha3/resource-pool-status-request.ts";
import {
  resourceClaimTemplateV1beta1Kind,
  resourceClaimV1beta1Kind,
  resourceSliceV1beta1Kind,
} from "./resource/v1beta1/kinds.ts";
import { storageVersionMigrationKind } from "./storagemigration/v1beta1/storage-version-migration.ts";

export const groupKinds: readonly Kind[] = [
  apiServiceKind,
  selfSubjectReviewKind,
  tokenReviewKind,
  localSubjectAccessReviewKind,
  selfSubjectAccessReviewKind,
  selfSubjectRulesReviewKind,
  subjectAccessReviewKind,
  horizontalPodAutoscalerKind,
  horizontalPodAutoscalerV1Kind,
  certificateSigningRequestKind,
  clusterTrustBundleV1beta1Kind,
  podCertificateRequestKind,
  clusterTrustBundleV1alpha1Kind,
  ingressClassKind,
  ingressKind,
  ipAddressKind,
  networkPolicyKind,
  serviceCidrKind,
  ipAddressV1beta1Kind,
  serviceCidrV1beta1Kind,
  podDisruptionBudgetKind,
  clusterRoleBindingKind,
  clusterRoleKind,
  roleBindingKind,
  roleKind,
  mutatingAdmissionPolicyKind,
  mutatingAdmissionPolicyBindingKind,
  mutatingWebhookConfigurationKind,
  validatingAdmissionPolicyKind,
  validatingAdmissionPolicyBindingKind,
  validatingWebhookConfigurationKind,
  mutatingAdmissionPolicyV1beta1Kind,
  mutatingAdmissionPolicyBindingV1beta1Kind,
  mutatingAdmissionPolicyV1alpha1Kind,
  mutatingAdmissionPolicyBindingV1alpha1Kind,
  customResourceDefinitionKind,
  deviceClassKind,
  resourceClaimKind,
  resourceClaimTemplateKind,
  resourceSliceKind,
  deviceClassV1beta2Kind,
  deviceTaintRuleV1beta2Kind,
  resourceClaimV1beta2Kind,
  resourceClaimTemplateV1beta2Kind,
  resourceSliceV1beta2Kind,
  deviceClassV1beta1Kind,
  resourceClaimV1beta1Kind,
  resourceClaimTemplateV1beta1Kind,
  resourceSliceV1beta1Kind,
  deviceTaintRuleV1alpha3Kind,
  resourcePoolStatusRequestKind,
  flowSchemaKind,
  priorityLevelConfigurationKind,
  storageVersionKind,
  storageVersionMigrationKind,
];
