/** Facts of storagemigration.v1beta1: format in format.md beside this file. */
export const storagemigrationV1beta1 = `\
group storagemigration.k8s.io
version v1beta1
openapi io.k8s.api.storagemigration.v1beta1
proto k8s.io.api.storagemigration.v1beta1
= MigrationConditionType string
StorageVersionMigration
  + TypeMeta
  metadata 1 meta.v1.ObjectMeta ~
  spec 2 StorageVersionMigrationSpec ~
  status 3 StorageVersionMigrationStatus ~
StorageVersionMigrationSpec
  resource 1 meta.v1.GroupResource !
StorageVersionMigrationStatus
  conditions 1 []meta.v1.Condition ~ map(type) patch(merge:type)
  resourceVersion 2 string ~
StorageVersionMigrationList
  + TypeMeta
  metadata 1 meta.v1.ListMeta ~
  items 2 []StorageVersionMigration !
`;
