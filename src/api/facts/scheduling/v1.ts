/** Facts of scheduling.v1: format in format.md beside this file. */
export const schedulingV1 = `\
group scheduling.k8s.io
version v1
openapi io.k8s.api.scheduling.v1
proto k8s.io.api.scheduling.v1
PriorityClass
  + TypeMeta
  metadata 1 meta.v1.ObjectMeta ~
  value 2 int32
  globalDefault 3 bool ~
  description 4 string ~
  preemptionPolicy 5 *core.v1.PreemptionPolicy ~ enum(Never|PreemptLowerPriority)
PriorityClassList
  + TypeMeta
  metadata 1 meta.v1.ListMeta ~
  items 2 []PriorityClass !
`;
