/** Facts of apiregistration.v1: format in format.md beside this file. */
export const apiregistrationV1 = `\
group apiregistration.k8s.io
version v1
openapi io.k8s.kube-aggregator.pkg.apis.apiregistration.v1
proto k8s.io.kube_aggregator.pkg.apis.apiregistration.v1
= ConditionStatus string
= APIServiceConditionType string
APIServiceList
  + TypeMeta
  metadata 1 meta.v1.ListMeta ~
  items 2 []APIService !
ServiceReference
  namespace 1 string ~
  name 2 string ~
  port 3 *int32 ~
APIServiceSpec
  service 1 *ServiceReference ~
  group 2 string ~
  version 3 string ~
  insecureSkipTLSVerify 4 bool ~
  caBundle 5 bytes ~ atomic
  groupPriorityMinimum 7 int32 !
  versionPriority 8 int32 !
APIServiceCondition
  type 1 APIServiceConditionType !
  status 2 ConditionStatus !
  lastTransitionTime 3 Time ~
  reason 4 string ~
  message 5 string ~
APIServiceStatus
  conditions 1 []APIServiceCondition ~ map(type) patch(merge:type)
APIService
  + TypeMeta
  metadata 1 meta.v1.ObjectMeta ~
  spec 2 APIServiceSpec ~
  status 3 APIServiceStatus ~
`;
