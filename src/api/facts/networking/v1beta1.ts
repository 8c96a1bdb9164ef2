/** Facts of networking.v1beta1: format in format.md beside this file. */
export const networkingV1beta1 = `\
group networking.k8s.io
version v1beta1
openapi io.k8s.api.networking.v1beta1
proto k8s.io.api.networking.v1beta1
= PathType string
Ingress
  + TypeMeta
  metadata 1 meta.v1.ObjectMeta ~
  spec 2 IngressSpec ~
  status 3 IngressStatus ~
IngressList
  + TypeMeta
  metadata 1 meta.v1.ListMeta ~
  items 2 []Ingress
IngressSpec
  ingressClassName 4 *string ~
  backend 1 *IngressBackend ~
  tls 2 []IngressTLS ~
  rules 3 []IngressRule ~
IngressTLS
  hosts 1 []string ~
  secretName 2 string ~
IngressStatus
  loadBalancer 1 IngressLoadBalancerStatus ~
IngressLoadBalancerStatus
  ingress 1 []IngressLoadBalancerIngress ~
IngressLoadBalancerIngress
  ip 1 string ~
  hostname 2 string ~
  ports 4 []IngressPortStatus ~
IngressPortStatus
  port 1 int32
  protocol 2 core.v1.Protocol
  error 3 *string ~
IngressRule
  host 1 string ~
  + IngressRuleValue 2
IngressRuleValue
  http 1 *HTTPIngressRuleValue ~
HTTPIngressRuleValue
  paths 1 []HTTPIngressPath
HTTPIngressPath
  path 1 string ~
  pathType 3 *PathType ~
  backend 2 IngressBackend
IngressBackend
  serviceName 1 string ~
  servicePort 2 IntOrString ~
  resource 3 *core.v1.TypedLocalObjectReference ~
IngressClass
  + TypeMeta
  metadata 1 meta.v1.ObjectMeta ~
  spec 2 IngressClassSpec ~
IngressClassSpec
  controller 1 string ~
  parameters 2 *IngressClassParametersReference ~
IngressClassParametersReference
  apiGroup 1 *string ~
  kind 2 string
  name 3 string
  scope 4 *string
  namespace 5 *string ~
IngressClassList
  + TypeMeta
  metadata 1 meta.v1.ListMeta ~
  items 2 []IngressClass
IPAddress
  + TypeMeta
  metadata 1 meta.v1.ObjectMeta ~
  spec 2 IPAddressSpec ~ !
IPAddressSpec
  parentRef 1 *ParentReference ~ !
ParentReference
  group 1 string ~
  resource 2 string ~ !
  namespace 3 string ~
  name 4 string ~ !
IPAddressList
  + TypeMeta
  metadata 1 meta.v1.ListMeta ~
  items 2 []IPAddress !
ServiceCIDR
  + TypeMeta
  metadata 1 meta.v1.ObjectMeta ~
  spec 2 ServiceCIDRSpec ~
  status 3 ServiceCIDRStatus ~
ServiceCIDRSpec
  cidrs 1 []string ~ atomic
ServiceCIDRStatus
  conditions 1 []meta.v1.Condition ~ map(type) patch(merge:type)
ServiceCIDRList
  + TypeMeta
  metadata 1 meta.v1.ListMeta ~
  items 2 []ServiceCIDR !
`;
