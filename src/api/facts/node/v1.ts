/** Facts of node.v1: format in format.md beside this file. */
export const nodeV1 = `\
group node.k8s.io
version v1
openapi io.k8s.api.node.v1
proto k8s.io.api.node.v1
RuntimeClass
  + TypeMeta
  metadata 1 meta.v1.ObjectMeta ~
  handler 2 string !
  overhead 3 *Overhead ~
  scheduling 4 *Scheduling ~
Overhead
  podFixed 1 core.v1.ResourceList ~
Scheduling
  nodeSelector 1 {string}string ~ mapatomic
  tolerations 2 []core.v1.Toleration ~ atomic
RuntimeClassList
  + TypeMeta
  metadata 1 meta.v1.ListMeta ~
  items 2 []RuntimeClass !
`;
