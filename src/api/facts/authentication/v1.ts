/** Facts of authentication.v1: format in format.md beside this file. */
export const authenticationV1 = `\
group authentication.k8s.io
version v1
openapi io.k8s.api.authentication.v1
proto k8s.io.api.authentication.v1
= ExtraValue []string message
TokenReview
  + TypeMeta
  metadata 1 meta.v1.ObjectMeta ~
  spec 2 TokenReviewSpec !
  status 3 TokenReviewStatus ~
TokenReviewSpec
  token 1 string ~ !
  audiences 2 []string ~ atomic
TokenReviewStatus
  authenticated 1 bool ~
  user 2 UserInfo ~
  audiences 4 []string ~ atomic
  error 3 string ~
UserInfo
  username 1 string ~
  uid 2 string ~
  groups 3 []string ~ atomic
  extra 4 {string}ExtraValue ~
TokenRequest
  + TypeMeta
  metadata 1 meta.v1.ObjectMeta ~
  spec 2 TokenRequestSpec
  status 3 TokenRequestStatus ~
TokenRequestSpec
  audiences 1 []string atomic
  expirationSeconds 4 *int64
  boundObjectRef 3 *BoundObjectReference
TokenRequestStatus
  token 1 string
  expirationTimestamp 2 Time
BoundObjectReference
  kind 1 string ~
  apiVersion 2 string ~
  name 3 string ~
  uid 4 UID ~
SelfSubjectReview
  + TypeMeta
  metadata 1 meta.v1.ObjectMeta ~
  status 2 SelfSubjectReviewStatus ~
SelfSubjectReviewStatus
  userInfo 1 UserInfo ~
`;
