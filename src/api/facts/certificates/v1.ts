/** Facts of certificates.v1: format in format.md beside this file. */
export const certificatesV1 = `\
group certificates.k8s.io
version v1
openapi io.k8s.api.certificates.v1
proto k8s.io.api.certificates.v1
= ExtraValue []string message
= RequestConditionType string
= KeyUsage string
CertificateSigningRequest
  + TypeMeta
  metadata 1 meta.v1.ObjectMeta ~
  spec 2 CertificateSigningRequestSpec !
  status 3 CertificateSigningRequestStatus ~
CertificateSigningRequestSpec
  request 1 bytes !
  signerName 7 string !
  expirationSeconds 8 *int32 ~
  usages 5 []KeyUsage ~ atomic enum(any|cert sign|client auth|code signing|content commitment|crl sign|data encipherment|decipher only|digital signature|email protection|encipher only|ipsec end system|ipsec tunnel|ipsec user|key agreement|key encipherment|microsoft sgc|netscape sgc|ocsp signing|s/mime|server auth|signing|timestamping)
  username 2 string ~
  uid 3 string ~
  groups 4 []string ~ atomic
  extra 6 {string}ExtraValue ~
CertificateSigningRequestStatus
  conditions 1 []CertificateSigningRequestCondition ~ map(type)
  certificate 2 bytes ~
CertificateSigningRequestCondition
  type 1 RequestConditionType !
  status 6 core.v1.ConditionStatus !
  reason 2 string ~
  message 3 string ~
  lastUpdateTime 4 Time ~
  lastTransitionTime 5 Time ~
CertificateSigningRequestList
  + TypeMeta
  metadata 1 meta.v1.ListMeta ~
  items 2 []CertificateSigningRequest !
`;
