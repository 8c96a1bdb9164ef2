/** Facts of discovery.v1: format in format.md beside this file. */
export const discoveryV1 = `\
group discovery.k8s.io
version v1
openapi io.k8s.api.discovery.v1
proto k8s.io.api.discovery.v1
= AddressType string
EndpointSlice
  + TypeMeta
  metadata 1 meta.v1.ObjectMeta ~
  addressType 4 AddressType ! enum(FQDN|IPv4|IPv6)
  endpoints 2 []Endpoint atomic
  ports 3 []EndpointPort atomic
Endpoint
  addresses 1 []string ! set
  conditions 2 EndpointConditions ~
  hostname 3 *string ~
  targetRef 4 *core.v1.ObjectReference ~
  deprecatedTopology 5 {string}string ~
  nodeName 6 *string ~
  zone 7 *string ~
  hints 8 *EndpointHints ~
EndpointConditions
  ready 1 *bool ~
  serving 2 *bool ~
  terminating 3 *bool ~
EndpointHints
  forZones 1 []ForZone ~ atomic
  forNodes 2 []ForNode ~ atomic
ForZone
  name 1 string !
ForNode
  name 1 string !
EndpointPort atomic
  name 1 *string ~
  protocol 2 *core.v1.Protocol ~ enum(SCTP|TCP|UDP)
  port 3 *int32 ~
  appProtocol 4 *string ~
EndpointSliceList
  + TypeMeta
  metadata 1 meta.v1.ListMeta ~
  items 2 []EndpointSlice !
`;
