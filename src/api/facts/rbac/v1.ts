/** Facts of rbac.v1: format in format.md beside this file. */
export const rbacV1 = `\
group rbac.authorization.k8s.io
version v1
openapi io.k8s.api.rbac.v1
proto k8s.io.api.rbac.v1
PolicyRule
  verbs 1 []string ! atomic
  apiGroups 2 []string ~ atomic
  resources 3 []string ~ atomic
  resourceNames 4 []string ~ atomic
  nonResourceURLs 5 []string ~ atomic
Subject atomic
  kind 1 string !
  apiGroup 2 string ~
  name 3 string !
  namespace 4 string ~
RoleRef atomic
  apiGroup 1 string
  kind 2 string !
  name 3 string !
Role
  + TypeMeta
  metadata 1 meta.v1.ObjectMeta ~
  rules 2 []PolicyRule atomic
RoleBinding
  + TypeMeta
  metadata 1 meta.v1.ObjectMeta ~
  subjects 2 []Subject ~ atomic
  roleRef 3 RoleRef !
RoleBindingList
  + TypeMeta
  metadata 1 meta.v1.ListMeta ~
  items 2 []RoleBinding !
RoleList
  + TypeMeta
  metadata 1 meta.v1.ListMeta ~
  items 2 []Role !
ClusterRole
  + TypeMeta
  metadata 1 meta.v1.ObjectMeta ~
  rules 2 []PolicyRule atomic
  aggregationRule 3 *AggregationRule ~
AggregationRule
  clusterRoleSelectors 1 []meta.v1.LabelSelector ~ atomic
ClusterRoleBinding
  + TypeMeta
  metadata 1 meta.v1.ObjectMeta ~
  subjects 2 []Subject ~ atomic
  roleRef 3 RoleRef !
ClusterRoleBindingList
  + TypeMeta
  metadata 1 meta.v1.ListMeta ~
  items 2 []ClusterRoleBinding !
ClusterRoleList
  + TypeMeta
  metadata 1 meta.v1.ListMeta ~
  items 2 []ClusterRole !
`;
