/** The kinds of networking, policy, access control, admission, extension and device groups. */
import type { Kind } from "./kind.ts";
import { ingressKind } from "./networking/v1/ingress.ts";
import { ingressClassKind } from "./networking/v1/ingress-class.ts";
import { ipAddressKind, ipAddressV1beta1Kind } from "./networking/v1/ip-address.ts";
import { networkPolicyKind } from "./networking/v1/network-policy.ts";
import { serviceCidrKind, serviceCidrV1beta1Kind } from "./networking/v1/service-cidr.ts";
import { podDisruptionBudgetKind } from "./policy/v1/pod-disruption-budget.ts";
import { clusterRoleBindingKind, roleBindingKind } from "./rbac/v1/bindings.ts";
import { clusterRoleKind, roleKind } from "./rbac/v1/roles.ts";

export const groupKinds: readonly Kind[] = [
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
];
