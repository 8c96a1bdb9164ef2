/**
 * The roles that people are bound to, and the parts of which admin, edit and view are made.
 *
 * A line at the margin is a role's name; below it, one rule per line (see role-notation.ts).
 */
export const USER_ROLES = `
cluster-admin
  * *:*
  * *
system:aggregate-to-admin
  create authorization.k8s.io:localsubjectaccessreviews
  manage rbac.authorization.k8s.io:rolebindings,roles
system:aggregate-to-edit
  read :pods/attach,pods/exec,pods/portforward,pods/proxy,secrets,services/proxy
  impersonate :serviceaccounts
  write :pods,pods/attach,pods/exec,pods/portforward,pods/proxy
  create :pods/eviction
  write :configmaps,persistentvolumeclaims,replicationcontrollers,replicationcontrollers/scale,
    secrets,serviceaccounts,services,services/proxy
  create :serviceaccounts/token
  write ,events.k8s.io:events
  write apps:daemonsets,deployments,deployments/rollback,deployments/scale,replicasets,
    replicasets/scale,statefulsets,statefulsets/scale
  write autoscaling:horizontalpodautoscalers
  write batch:cronjobs,jobs
  write extensions:daemonsets,deployments,deployments/rollback,deployments/scale,ingresses,
    networkpolicies,replicasets,replicasets/scale,replicationcontrollers/scale
  write policy:poddisruptionbudgets
  write networking.k8s.io:ingresses,networkpolicies
  manage coordination.k8s.io:leases
  write resource.k8s.io:resourceclaims,resourceclaimtemplates
system:aggregate-to-view
  read :configmaps,endpoints,persistentvolumeclaims,persistentvolumeclaims/status,pods,
    replicationcontrollers,replicationcontrollers/scale,serviceaccounts,services,services/status
  read :bindings,limitranges,namespaces/status,pods/log,pods/status,replicationcontrollers/status,
    resourcequotas,resourcequotas/status
  read :namespaces
  read ,events.k8s.io:events
  read discovery.k8s.io:endpointslices
  read apps:controllerrevisions,daemonsets,daemonsets/status,deployments,deployments/scale,
    deployments/status,replicasets,replicasets/scale,replicasets/status,statefulsets,
    statefulsets/scale,statefulsets/status
  read autoscaling:horizontalpodautoscalers,horizontalpodautoscalers/status
  read batch:cronjobs,cronjobs/status,jobs,jobs/status
  read extensions:daemonsets,daemonsets/status,deployments,deployments/scale,deployments/status,
    ingresses,ingresses/status,networkpolicies,replicasets,replicasets/scale,replicasets/status,
    replicationcontrollers/scale
  read policy:poddisruptionbudgets,poddisruptionbudgets/status
  read networking.k8s.io:ingresses,ingresses/status,networkpolicies
  read resource.k8s.io:resourceclaims,resourceclaims/status,resourceclaimtemplates
`;
