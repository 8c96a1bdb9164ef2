/** Facts of admission.v1: format in format.md beside this file. */
export const admissionV1 = `\
group admission.k8s.io
version v1
openapi io.k8s.api.admission.v1
proto k8s.io.api.admission.v1
= PatchType string
= Operation string
AdmissionReview
  + TypeMeta
  request 1 *AdmissionRequest ~
  response 2 *AdmissionResponse ~
AdmissionRequest
  uid 1 UID
  kind 2 meta.v1.GroupVersionKind
  resource 3 meta.v1.GroupVersionResource
  subResource 4 string ~
  requestKind 13 *meta.v1.GroupVersionKind ~
  requestResource 14 *meta.v1.GroupVersionResource ~
  requestSubResource 15 string ~
  name 5 string ~
  namespace 6 string ~
  operation 7 Operation
  userInfo 8 authentication.v1.UserInfo
  object 9 RawExtension ~
  oldObject 10 RawExtension ~
  dryRun 11 *bool ~
  options 12 RawExtension ~
AdmissionResponse
  uid 1 UID
  allowed 2 bool
  status 3 *meta.v1.Status ~
  patch 4 bytes ~
  patchType 5 *PatchType ~
  auditAnnotations 6 {string}string ~
  warnings 7 []string ~
`;
