/** Facts of apidiscovery.v2: format in format.md beside this file. */
export const apidiscoveryV2 = `\
group apidiscovery.k8s.io
version v2
openapi io.k8s.api.apidiscovery.v2
proto k8s.io.api.apidiscovery.v2
= ResourceScope string
= DiscoveryFreshness string
APIGroupDiscoveryList
  + TypeMeta
  metadata 1 meta.v1.ListMeta ~
  items 2 []APIGroupDiscovery !
APIGroupDiscovery
  + TypeMeta
  metadata 1 meta.v1.ObjectMeta ~
  versions 2 []APIVersionDiscovery ~ map(version)
APIVersionDiscovery
  version 1 string !
  resources 2 []APIResourceDiscovery ~ map(resource)
  freshness 3 DiscoveryFreshness ~
APIResourceDiscovery
  resource 1 string !
  responseKind 2 *meta.v1.GroupVersionKind ~
  scope 3 ResourceScope !
  singularResource 4 string !
  verbs 5 []string ! set
  shortNames 6 []string ~ set
  categories 7 []string ~ set
  subresources 8 []APISubresourceDiscovery ~ map(subresource)
APISubresourceDiscovery
  subresource 1 string !
  responseKind 2 *meta.v1.GroupVersionKind ~
  acceptedTypes 3 []meta.v1.GroupVersionKind ~ map(group,version,kind)
  verbs 4 []string ! set
`;
