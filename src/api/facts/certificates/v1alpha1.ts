/** Facts of certificates.v1alpha1: format in format.md beside this file. */
export const certificatesV1alpha1 = `\
group certificates.k8s.io
version v1alpha1
openapi io.k8s.api.certificates.v1alpha1
proto k8s.io.api.certificates.v1alpha1
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
`;
