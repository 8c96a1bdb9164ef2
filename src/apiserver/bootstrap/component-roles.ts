/**
 * The bootstrap roles of the components and add-ons of a cluster.
 *
 * A line at the margin is a role's name; below it, one rule per line (see role-notation.ts).
 */
export const COMPONENT_ROLES = `
system:auth-delegator
  create authentication.k8s.io:tokenreviews
  create authorization.k8s.io:subjectaccessreviews
system:basic-user
  create authorization.k8s.io:selfsubjectaccessreviews,selfsubjectrulesreviews
  create authentication.k8s.io:selfsubjectreviews
system:certificates.k8s.io:certificatesigningrequests:nodeclient
  create certificates.k8s.io:certificatesigningrequests/nodeclient
system:certificates.k8s.io:certificatesigningrequests:selfnodeclient
  create certificates.k8s.io:certificatesigningrequests/selfnodeclient
system:certificates.k8s.io:kube-apiserver-client-approver
  approve certificates.k8s.io:signers =kubernetes.io/kube-apiserver-client
system:certificates.k8s.io:kube-apiserver-client-kubelet-approver
  approve certificates.k8s.io:signers =kubernetes.io/kube-apiserver-client-kubelet
system:certificates.k8s.io:kubelet-serving-approver
  approve certificates.k8s.io:signers =kubernetes.io/kubelet-serving
system:certificates.k8s.io:legacy-unknown-approver
  approve certificates.k8s.io:signers =kubernetes.io/legacy-unknown
system:discovery
  get /api,/api/*,/apis,/apis/*,/healthz,/livez,/openapi,/openapi/*,/readyz,/version,/version/
system:heapster
  read :events,namespaces,nodes,pods
  read extensions:deployments
system:kube-aggregator
  read :endpoints,services
system:kube-controller-manager
  create,patch,update ,events.k8s.io:events
  create coordination.k8s.io:leases
  get,update coordination.k8s.io:leases =kube-controller-manager
  create :secrets,serviceaccounts
  delete :secrets
  get :configmaps,namespaces,secrets,serviceaccounts
  update :secrets,serviceaccounts
  create authentication.k8s.io:tokenreviews
  create authorization.k8s.io:subjectaccessreviews
  list,watch *:*
  create :serviceaccounts/token
system:kube-dns
  list,watch :endpoints,services
system:kube-scheduler
  create,patch,update ,events.k8s.io:events
  create coordination.k8s.io:leases
  get,list,update,watch coordination.k8s.io:leases =kube-scheduler
  manage coordination.k8s.io:leasecandidates
  read :nodes
  delete,get,list,watch :pods
  create :bindings,pods/binding
  patch,update :pods/status
  read :replicationcontrollers,services
  read apps,extensions:replicasets
  read apps:statefulsets
  read policy:poddisruptionbudgets
  read :persistentvolumeclaims,persistentvolumes
  create authentication.k8s.io:tokenreviews
  create authorization.k8s.io:subjectaccessreviews
  read storage.k8s.io:csinodes
  read storage.k8s.io:volumeattachments
  read :namespaces
  read storage.k8s.io:csidrivers
  read storage.k8s.io:csistoragecapacities
  read resource.k8s.io:deviceclasses
  get,list,patch,update,watch resource.k8s.io:resourceclaims
  get,list,patch,update,watch resource.k8s.io:resourceclaims/status
  update :pods/finalizers
  read resource.k8s.io:resourceslices
  create,delete resource.k8s.io:resourceclaims
  patch,update resource.k8s.io:resourceclaims/binding
system:kubelet-api-admin
  read :nodes
  proxy :nodes
  * :nodes/log,nodes/metrics,nodes/proxy,nodes/stats
  * :nodes/configz,nodes/healthz,nodes/pods
system:monitoring
  get /flagz,/healthz,/healthz/*,/livez,/livez/*,/metrics,/metrics/slis,/readyz,/readyz/*,/statusz
  get :nodes/metrics
system:node
  create authentication.k8s.io:tokenreviews
  create authorization.k8s.io:localsubjectaccessreviews,subjectaccessreviews
  read :services
  create,get,list,watch :nodes
  patch,update :nodes/status
  patch,update :nodes
  create,patch,update ,events.k8s.io:events
  read :pods
  create,delete :pods
  patch,update :pods/status
  create :pods/eviction
  read :configmaps,secrets
  get :persistentvolumeclaims,persistentvolumes
  get :endpoints
  create,get,list,watch certificates.k8s.io:certificatesigningrequests
  create,delete,get,patch,update coordination.k8s.io:leases
  get storage.k8s.io:volumeattachments
  create :serviceaccounts/token
  get,patch,update :persistentvolumeclaims/status
  read storage.k8s.io:csidrivers
  create,delete,get,patch,update storage.k8s.io:csinodes
  read node.k8s.io:runtimeclasses
  get resource.k8s.io:resourceclaims
  deletecollection resource.k8s.io:resourceslices
  get :serviceaccounts
system:node-bootstrapper
  create,get,list,watch certificates.k8s.io:certificatesigningrequests
system:node-problem-detector
  get :nodes
  patch :nodes/status
  create,patch,update ,events.k8s.io:events
system:node-proxier
  list,watch :endpoints,services
  read :nodes
  create,patch,update ,events.k8s.io:events
  list,watch networking.k8s.io:servicecidrs
  list,watch discovery.k8s.io:endpointslices
system:persistent-volume-provisioner
  create,delete,get,list,watch :persistentvolumes
  get,list,update,watch :persistentvolumeclaims
  read storage.k8s.io:storageclasses
  watch :events
  create,patch,update ,events.k8s.io:events
system:public-info-viewer
  get /healthz,/livez,/readyz,/version,/version/
system:service-account-issuer-discovery
  get /.well-known/openid-configuration,/.well-known/openid-configuration/,/openid/v1/jwks,
    /openid/v1/jwks/
system:volume-scheduler
  get,list,patch,update,watch :persistentvolumes
  read storage.k8s.io:storageclasses
  get,list,patch,update,watch :persistentvolumeclaims
`;

/** Roles in namespaces: `namespace/name`. */
export const NAMESPACED_ROLES = `
kube-public/system:controller:bootstrap-signer
  read :configmaps
  update :configmaps =cluster-info
  create,patch,update ,events.k8s.io:events
kube-system/extension-apiserver-authentication-reader
  read :configmaps =extension-apiserver-authentication
kube-system/system::leader-locking-kube-controller-manager
  create,get,list,update,watch coordination.k8s.io:leases
  create,get,list,update,watch coordination.k8s.io:leasecandidates
kube-system/system::leader-locking-kube-scheduler
  create,get,list,update,watch coordination.k8s.io:leases
  create,get,list,update,watch coordination.k8s.io:leasecandidates
kube-system/system:controller:bootstrap-signer
  read :secrets
kube-system/system:controller:cloud-provider
  create,get,list,watch :configmaps
kube-system/system:controller:token-cleaner
  delete,get,list,watch :secrets
  create,patch,update ,events.k8s.io:events
`;
