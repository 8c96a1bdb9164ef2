/** Facts of coordination.v1beta1: format in format.md beside this file. */
export const coordinationV1beta1 = `\
group coordination.k8s.io
version v1beta1
openapi io.k8s.api.coordination.v1beta1
proto k8s.io.api.coordination.v1beta1
Lease
  + TypeMeta
  metadata 1 meta.v1.ObjectMeta ~
  spec 2 LeaseSpec ~
LeaseSpec
  holderIdentity 1 *string ~
  leaseDurationSeconds 2 *int32 ~
  acquireTime 3 *MicroTime ~
  renewTime 4 *MicroTime ~
  leaseTransitions 5 *int32 ~
  strategy 6 *coordination.v1.CoordinatedLeaseStrategy ~
  preferredHolder 7 *string ~
LeaseList
  + TypeMeta
  metadata 1 meta.v1.ListMeta ~
  items 2 []Lease
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
