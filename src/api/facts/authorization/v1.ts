/** Facts of authorization.v1: format in format.md beside this file. */
export const authorizationV1 = `\
group authorization.k8s.io
version v1
openapi io.k8s.api.authorization.v1
proto k8s.io.api.authorization.v1
= ExtraValue []string message
SubjectAccessReview
  + TypeMeta
  metadata 1 meta.v1.ObjectMeta ~
  spec 2 SubjectAccessReviewSpec !
  status 3 SubjectAccessReviewStatus ~
SelfSubjectAccessReview
  + TypeMeta
  metadata 1 meta.v1.ObjectMeta ~
  spec 2 SelfSubjectAccessReviewSpec !
  status 3 SubjectAccessReviewStatus ~
LocalSubjectAccessReview
  + TypeMeta
  metadata 1 meta.v1.ObjectMeta ~
  spec 2 SubjectAccessReviewSpec !
  status 3 SubjectAccessReviewStatus ~
ResourceAttributes
  namespace 1 string ~
  verb 2 string ~
  group 3 string ~
  version 4 string ~
  resource 5 string ~
  subresource 6 string ~
  name 7 string ~
  fieldSelector 8 *FieldSelectorAttributes ~
  labelSelector 9 *LabelSelectorAttributes ~
LabelSelectorAttributes
  rawSelector 1 string ~
  requirements 2 []meta.v1.LabelSelectorRequirement ~ atomic
FieldSelectorAttributes
  rawSelector 1 string ~
  requirements 2 []meta.v1.FieldSelectorRequirement ~ atomic
NonResourceAttributes
  path 1 string ~
  verb 2 string ~
SubjectAccessReviewSpec
  resourceAttributes 1 *ResourceAttributes ~
  nonResourceAttributes 2 *NonResourceAttributes ~
  user 3 string ~
  groups 4 []string ~ atomic
  extra 5 {string}ExtraValue ~
  uid 6 string ~
SelfSubjectAccessReviewSpec
  resourceAttributes 1 *ResourceAttributes ~
  nonResourceAttributes 2 *NonResourceAttributes ~
SubjectAccessReviewStatus
  allowed 1 bool !
  denied 4 bool ~
  reason 2 string ~
  evaluationError 3 string ~
SelfSubjectRulesReview
  + TypeMeta
  metadata 1 meta.v1.ObjectMeta ~
  spec 2 SelfSubjectRulesReviewSpec !
  status 3 SubjectRulesReviewStatus ~
SelfSubjectRulesReviewSpec
  namespace 1 string ~
SubjectRulesReviewStatus
  resourceRules 1 []ResourceRule ! atomic
  nonResourceRules 2 []NonResourceRule ! atomic
  incomplete 3 bool !
  evaluationError 4 string ~
ResourceRule
  verbs 1 []string ! atomic
  apiGroups 2 []string ~ atomic
  resources 3 []string ~ atomic
  resourceNames 4 []string ~ atomic
NonResourceRule
  verbs 1 []string ! atomic
  nonResourceURLs 2 []string ~ atomic
`;
