/** Facts of certificates.v1beta1: format in format.md beside this file. */
export const certificatesV1beta1 = `\
group certificates.k8s.io
version v1beta1
openapi io.k8s.api.certificates.v1beta1
proto k8s.io.api.certificates.v1beta1
= ExtraValue []string message
= RequestConditionType string
= KeyUsage string
CertificateSigningRequest
  + TypeMeta
  metadata 1 meta.v1.ObjectMeta ~
  spec 2 CertificateSigningRequestSpec
  status 3 CertificateSigningRequestStatus ~
CertificateSigningRequestSpec
  request 1 bytes
  signerName 7 *string ~
  expirationSeconds 8 *int32 ~
  usages 5 []KeyUsage ~
  username 2 string ~
  uid 3 string ~
  groups 4 []string ~
  extra 6 {string}ExtraValue ~
CertificateSigningRequestStatus
  conditions 1 []CertificateSigningRequestCondition ~
  certificate 2 bytes ~
CertificateSigningRequestCondition
  type 1 RequestConditionType
  status 6 core.v1.ConditionStatus
  reason 2 string ~
  message 3 string ~
  lastUpdateTime 4 Time ~
  lastTransitionTime 5 Time ~
CertificateSigningRequestList
  + TypeMeta
  metadata 1 meta.v1.ListMeta ~
  items 2 []CertificateSigningRequest
ClusterTrustBundle
  + TypeMeta
  metadata 1 meta.v1.ObjectMeta ~
  spec 2 ClusterTrustBundleSpec !
ClusterTrustBundleSpec
  signerName 1 string ~
  trustBundle 2 string !
ClusterTrustBundleList
  + TypeMeta
  metadata 1 meta.v1.ListMeta ~
  items 2 []ClusterTrustBundle !
PodCertificateRequest
  + TypeMeta
  metadata 1 meta.v1.ObjectMeta ~
  spec 2 PodCertificateRequestSpec !
  status 3 PodCertificateRequestStatus ~
PodCertificateRequestSpec
  signerName 1 string !
  podName 2 string !
  podUID 3 UID !
  serviceAccountName 4 string !
  serviceAccountUID 5 UID !
  nodeName 6 NodeName !
  nodeUID 7 UID !
  maxExpirationSeconds 8 *int32 ~ default(86400)
  pkixPublicKey 9 bytes
  proofOfPossession 10 bytes
  stubPKCS10Request 12 bytes !
  unverifiedUserAnnotations 11 {string}string ~
PodCertificateRequestStatus
  conditions 1 []meta.v1.Condition ~ map(type) patch(merge:type)
  certificateChain 2 string ~
  notBefore 4 *Time ~
  beginRefreshAt 5 *Time ~
  notAfter 6 *Time ~
PodCertificateRequestList
  + TypeMeta
  metadata 1 meta.v1.ListMeta ~
  items 2 []PodCertificateRequest !
`;
