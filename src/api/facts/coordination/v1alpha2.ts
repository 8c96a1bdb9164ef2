/** Facts of coordination.v1alpha2: format in format.md beside this file. */
export const coordinationV1alpha2 = `\
group coordination.k8s.io
version v1alpha2
openapi io.k8s.api.coordination.v1alpha2
proto k8s.io.api.coordination.v1alpha2
LeaseCandidate
  + TypeMeta
  metadata 1 meta.v1.ObjectMeta ~
  spec 2 LeaseCandidateSpec ~ !
LeaseCandidateSpec
  leaseName 1 string !
  pingTime 2 *MicroTime ~
  renewTime 3 *MicroTime ~
  binaryVersion 4 string !
  emulationVersion 5 string ~
  strategy 6 coordination.v1.CoordinatedLeaseStrategy ~ !
LeaseCandidateList
  + TypeMeta
  metadata 1 meta.v1.ListMeta ~
  items 2 []LeaseCandidate !
`;
