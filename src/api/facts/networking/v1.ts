/** Facts of networking.v1: format in format.md beside this file. */
export const networkingV1 = `\
group networking.k8s.io
version v1
openapi io.k8s.api.networking.v1
proto k8s.io.api.networking.v1
= PolicyType string
= PathType string
NetworkPolicy
  + TypeMeta
  metadata 1 meta.v1.ObjectMeta ~
  spec 2 NetworkPolicySpec ~
NetworkPolicySpec
  podSelector 1 meta.v1.LabelSelector
  ingress 2 []NetworkPolicyIngressRule ~ atomic
  egress 3 []NetworkPolicyEgressRule ~ atomic
  policyTypes 4 []PolicyType ~ atomic enum(Egress|Ingress)
NetworkPolicyIngressRule
  ports 1 []NetworkPolicyPort ~ atomic
  from 2 []NetworkPolicyPeer ~ atomic
NetworkPolicyEgressRule
  ports 1 []NetworkPolicyPort ~ atomic
  to 2 []NetworkPolicyPeer ~ atomic
NetworkPolicyPort
  protocol 1 *core.v1.Protocol ~ enum(SCTP|TCP|UDP)
  port 2 *IntOrString ~
  endPort 3 *int32 ~
IPBlock
  cidr 1 string !
  except 2 []string ~ atomic
NetworkPolicyPeer
  podSelector 1 *meta.v1.LabelSelector ~
  namespaceSelector 2 *meta.v1.LabelSelector ~
  ipBlock 3 *IPBlock ~
NetworkPolicyList
  + TypeMeta
  metadata 1 meta.v1.ListMeta ~
  items 2 []NetworkPolicy !
Ingress
  + TypeMeta
  metadata 1 meta.v1.ObjectMeta ~
  spec 2 IngressSpec ~
  status 3 IngressStatus ~
IngressList
  + TypeMeta
  metadata 1 meta.v1.ListMeta ~
  items 2 []Ingress !
IngressSpec
  ingressClassName 4 *string ~
  defaultBackend 1 *IngressBackend ~
  tls 2 []IngressTLS ~ atomic
  rules 3 []IngressRule ~ atomic
IngressTLS
  hosts 1 []string ~ atomic
  secretName 2 string ~
IngressStatus
  loadBalancer 1 IngressLoadBalancerStatus ~
IngressLoadBalancerStatus
  ingress 1 []IngressLoadBalancerIngress ~ atomic
IngressLoadBalancerIngress
  ip 1 string ~
  hostname 2 string ~
  ports 4 []IngressPortStatus ~ atomic
IngressPortStatus
  port 1 int32 !
  protocol 2 core.v1.Protocol ! enum(SCTP|TCP|UDP)
  error 3 *string ~
IngressRule
  host 1 string ~
  + IngressRuleValue 2
IngressRuleValue
  http 1 *HTTPIngressRuleValue ~
HTTPIngressRuleValue
  paths 1 []HTTPIngressPath ! atomic
HTTPIngressPath
  path 1 string ~
  pathType 3 *PathType ! enum(Exact|ImplementationSpecific|Prefix)
  backend 2 IngressBackend !
IngressBackend
  service 4 *IngressServiceBackend ~
  resource 3 *core.v1.TypedLocalObjectReference ~
IngressServiceBackend
  name 1 string !
  port 2 ServiceBackendPort ~
ServiceBackendPort atomic
  name 1 string ~
  number 2 int32 ~
IngressClass
  + TypeMeta
  metadata 1 meta.v1.ObjectMeta ~
  spec 2 IngressClassSpec ~
IngressClassSpec
  controller 1 string ~
  parameters 2 *IngressClassParametersReference ~
IngressClassParametersReference
  apiGroup 1 *string ~
  kind 2 string !
  name 3 string !
  scope 4 *string
  namespace 5 *string ~
IngressClassList
  + TypeMeta
  metadata 1 meta.v1.ListMeta ~
  items 2 []IngressClass !
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
