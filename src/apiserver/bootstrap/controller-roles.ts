/**
 * What each controller may do. The role is `system:controller:NAME`, bound to the service account
 * NAME in kube-system.
 *
 * A line at the margin is a role's name; below it, one rule per line (see role-notation.ts).
 */
export const CONTROLLER_ROLES = `
attachdetach-controller
  list,watch :persistentvolumeclaims,persistentvolumes
  read :nodes
  patch,update :nodes/status
  list,watch :pods
  create,patch,update ,events.k8s.io:events
  create,delete,get,list,watch storage.k8s.io:volumeattachments
  read storage.k8s.io:csidrivers
  read storage.k8s.io:csinodes
certificate-controller
  delete,get,list,watch certificates.k8s.io:certificatesigningrequests
  update certificates.k8s.io:certificatesigningrequests/approval,certificatesigningrequests/status
  approve certificates.k8s.io:signers =kubernetes.io/kube-apiserver-client-kubelet
  sign certificates.k8s.io:signers =kubernetes.io/kube-apiserver-client,
    kubernetes.io/kube-apiserver-client-kubelet,kubernetes.io/kubelet-serving,
    kubernetes.io/legacy-unknown
  create authorization.k8s.io:subjectaccessreviews
  create,patch,update ,events.k8s.io:events
clusterrole-aggregation-controller
  escalate,get,list,patch,update,watch rbac.authorization.k8s.io:clusterroles
cronjob-controller
  get,list,update,watch batch:cronjobs
  create,delete,get,list,patch,update,watch batch:jobs
  update batch:cronjobs/status
  update batch:cronjobs/finalizers
  delete,list,watch :pods
  create,patch,update ,events.k8s.io:events
daemon-set-controller
  read apps,extensions:daemonsets
  update apps,extensions:daemonsets/status
  update apps,extensions:daemonsets/finalizers
  list,watch :nodes
  create,delete,list,patch,watch :pods
  create :pods/binding
  create,delete,get,list,patch,update,watch apps:controllerrevisions
  create,patch,update ,events.k8s.io:events
deployment-controller
  get,list,update,watch apps,extensions:deployments
  update apps,extensions:deployments/status
  update apps,extensions:deployments/finalizers
  create,delete,get,list,patch,update,watch apps,extensions:replicasets
  get,list,update,watch :pods
  create,patch,update ,events.k8s.io:events
device-taint-eviction-controller
  delete,get,list,watch :pods
  patch,update :pods/status
  read resource.k8s.io:resourceclaims
  read resource.k8s.io:resourceslices
  read resource.k8s.io:deviceclasses
  create,patch,update ,events.k8s.io:events
disruption-controller
  read apps,extensions:deployments
  read apps,extensions:replicasets
  read :replicationcontrollers
  read policy:poddisruptionbudgets
  read apps:statefulsets
  update policy:poddisruptionbudgets/status
  patch,update :pods/status
  get *:*/scale
  create,patch,update ,events.k8s.io:events
endpoint-controller
  read :pods,services
  create,delete,get,list,update,watch :endpoints
  create :endpoints/restricted
  create,patch,update ,events.k8s.io:events
endpointslice-controller
  read :nodes,pods,services
  update :services/finalizers
  create,delete,get,list,update,watch discovery.k8s.io:endpointslices
  create,patch,update ,events.k8s.io:events
endpointslicemirroring-controller
  read :endpoints,services
  update :services/finalizers
  update :endpoints/finalizers
  create,delete,get,list,update,watch discovery.k8s.io:endpointslices
  create,patch,update ,events.k8s.io:events
ephemeral-volume-controller
  read :pods
  update :pods/finalizers
  create,get,list,watch :persistentvolumeclaims
  create,patch,update ,events.k8s.io:events
expand-controller
  get,list,patch,update,watch :persistentvolumes
  patch,update :persistentvolumeclaims/status
  read :persistentvolumeclaims
  create,patch,update ,events.k8s.io:events
generic-garbage-collector
  delete,get,list,patch,update,watch *:*
  create,patch,update ,events.k8s.io:events
horizontal-pod-autoscaler
  read autoscaling:horizontalpodautoscalers
  update autoscaling:horizontalpodautoscalers/status
  get,update *:*/scale
  list,watch :pods
  list,watch metrics.k8s.io:pods
  read custom.metrics.k8s.io:*
  read external.metrics.k8s.io:*
  create,patch,update ,events.k8s.io:events
job-controller
  get,list,patch,update,watch batch:jobs
  update batch:jobs/status
  update batch:jobs/finalizers
  create,delete,list,patch,watch :pods
  create,patch,update ,events.k8s.io:events
legacy-service-account-token-cleaner
  get :configmaps =kube-apiserver-legacy-service-account-token-tracking
  delete,patch :secrets
namespace-controller
  delete,get,list,watch :namespaces
  update :namespaces/finalize,namespaces/status
  delete,deletecollection,get,list,watch *:*
node-controller
  delete,get,list,patch,update,watch :nodes
  patch,update :nodes/status
  patch,update :pods/status
  delete,get,list,watch :pods
  create,patch,update ,events.k8s.io:events
persistent-volume-binder
  create,delete,get,list,update,watch :persistentvolumes
  update :persistentvolumes/status
  get,list,update,watch :persistentvolumeclaims
  update :persistentvolumeclaims/status
  create,delete,get,list,watch :pods
  read storage.k8s.io:storageclasses
  list,watch :nodes
  create,patch,update ,events.k8s.io:events
  watch :events
pod-garbage-collector
  delete,list,watch :pods
  read :nodes
  patch :pods/status
pv-protection-controller
  get,list,update,watch :persistentvolumes
  create,patch,update ,events.k8s.io:events
pvc-protection-controller
  get,list,update,watch :persistentvolumeclaims
  update :persistentvolumeclaims/status
  read :pods
  create,patch,update ,events.k8s.io:events
replicaset-controller
  get,list,update,watch apps,extensions:replicasets
  update apps,extensions:replicasets/status
  update apps,extensions:replicasets/finalizers
  create,delete,list,patch,watch :pods
  create,patch,update ,events.k8s.io:events
replication-controller
  get,list,update,watch :replicationcontrollers
  update :replicationcontrollers/status
  update :replicationcontrollers/finalizers
  create,delete,list,patch,watch :pods
  create,patch,update ,events.k8s.io:events
resource-claim-controller
  read :pods
  update :pods/finalizers
  create,delete,get,list,watch resource.k8s.io:resourceclaims
  patch,update resource.k8s.io:resourceclaims,resourceclaims/status
  patch,update :pods/status
  create,patch,update ,events.k8s.io:events
  patch,update resource.k8s.io:resourceclaims/binding
resourcequota-controller
  list,watch *:*
  update :resourcequotas/status
  create,patch,update ,events.k8s.io:events
root-ca-cert-publisher
  create,update :configmaps
  create,patch,update ,events.k8s.io:events
route-controller
  list,watch :nodes
  patch :nodes/status
  create,patch,update ,events.k8s.io:events
selinux-warning-controller
  create,patch,update ,events.k8s.io:events
  read :persistentvolumes
  read :persistentvolumeclaims
  read :pods
  read storage.k8s.io:csidrivers
service-account-controller
  create :serviceaccounts
  create,patch,update ,events.k8s.io:events
service-cidrs-controller
  get,list,patch,update,watch networking.k8s.io:servicecidrs
  patch,update networking.k8s.io:servicecidrs/finalizers
  patch,update networking.k8s.io:servicecidrs/status
  read networking.k8s.io:ipaddresses
  create,patch,update ,events.k8s.io:events
service-controller
  read :services
  patch,update :services/status
  list,watch :nodes
  create,patch,update ,events.k8s.io:events
statefulset-controller
  list,watch :pods
  read apps:statefulsets
  update apps:statefulsets/status
  update apps:statefulsets/finalizers
  create,delete,get,patch,update :pods
  create,delete,get,list,patch,update,watch apps:controllerrevisions
  create,get,list,watch :persistentvolumeclaims
  delete,update :persistentvolumeclaims
  update :pods/finalizers
  create,patch,update ,events.k8s.io:events
ttl-after-finished-controller
  delete,get,list,watch batch:jobs
  create,patch,update ,events.k8s.io:events
ttl-controller
  list,patch,update,watch :nodes
  create,patch,update ,events.k8s.io:events
validatingadmissionpolicy-status-controller
  read admissionregistration.k8s.io:validatingadmissionpolicies
  get,patch,update admissionregistration.k8s.io:validatingadmissionpolicies/status
  create,patch,update ,events.k8s.io:events
volumeattributesclass-protection-controller
  read :persistentvolumeclaims
  read :persistentvolumes
  get,list,update,watch storage.k8s.io:volumeattributesclasses
  create,patch,update ,events.k8s.io:events
`;
